"""A simulated AWS at HTTP level: the services that clusters need, with their refusals, lags and faults.

Requests are told apart as AWS does it: the credential scope of the signature names service and region, the access key
names the account (`settings`). In-process a client of boto3 is mounted as it is; over HTTP it gets `endpoint_url`.

    cloud          who calls, limits, policies, handlers
    wire           requests and replies in the protocols of AWS (`protocols`), after the service models of botocore
    services       the table of all operations that are served; everything else is refused by name
    world          the state: resources by account and region, timers, tag index, client tokens, sessions
    ec2, elb, elbv2, eks   a folder each, with a file per family of resources
    health_checks  of what is behind a load balancer
    strangers      acts as other users, as a program on an instance, and as AWS itself
"""
