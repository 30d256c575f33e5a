"""A simulated IBM Cloud account at the vendor's wire format: what PowerVS clusters need, and how it misbehaves.

One base URL, a prefix per service (in-process `http://ibm.sim`, else what the process announces):

    /iam                          IAM tokens                       iam
    /resource-controller          Resource Controller, Manager     resource_controller, resource_keys, resource_manager
    /power/{region}               PowerVS                          power_workspaces, power_networks, power_dhcp
    /vpc/{region}/v1              VPC                              vpcs, subnets, security_groups, load_balancers, ...
    /transit/v1                   Transit Gateway                  transit, transit_connections
    /tagging, /search             Global Tagging, Global Search    tagging, search
    /cos/{region}                 Object Storage, path style       cos

`world` is the state, `cloud` takes the calls, `settings` says what can be set, `strangers` acts behind our back.
"""
