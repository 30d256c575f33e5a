"""The wire protocols of AWS, driven by the service models: one reader and one writer for each.

query.py       reads form-encoded requests (`ec2`, `query`)
xml.py         writes XML replies and errors (`ec2`, `query`, `rest-xml`)
json_body.py   reads and writes JSON (`json`, `rest-json`)
rest.py        finds the operation by method and path, and the parameters in path, query, headers and body
validation.py  checks parameters against the input shape
text.py        timestamps
"""
