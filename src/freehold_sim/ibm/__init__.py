"""A simulated IBM Cloud account at HTTP level: the services that PowerVS clusters need, with their known faults.

One base URL, with a prefix per service (in-process `http://ibm.sim`, else the URL in the ready file):

    /iam                          IAM tokens                       iam
    /resource-controller          Resource Controller, Manager     resource_controller, resource_keys, resource_manager
    /power/{region}               PowerVS                          power_workspaces, power_networks, power_dhcp
    /vpc/{region}/v1              VPC                              vpcs, subnets, security_groups, load_balancers, ...
    /transit/v1                   Transit Gateway                  transit, transit_connections
    /tagging, /search             Global Tagging, Global Search    tagging, search
    /cos/{region}                 Object Storage, path style       cos

`world` is the state, `cloud` handles requests, `settings` defines the settings, `strangers` acts as other users.
"""
