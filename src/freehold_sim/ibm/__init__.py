"""A simulated IBM Cloud account at HTTP level: the services that PowerVS clusters need, with their known faults.

One base URL, with a prefix per service (in-process `http://ibm.sim`, else the URL in the ready file):

    /iam                          IAM tokens                       iam
    /resource-controller          Resource Controller, Manager     resource_controller, resource_keys, reclamations, ...
    /power/{region}, /            PowerVS                          power_workspaces, power_networks, power_dhcp, ...
    /vpc/{region}/v1              VPC                              vpcs, subnets, security_groups, load_balancers, ...
    /transit/v1                   Transit Gateway                  transit, transit_connections, transit_locations
    /tagging, /search             Global Tagging, Global Search    tagging, search
    /cos/{region}                 Object Storage, path style       cos

Every operation names the fields that it serves (`fields`); `not_served` answers for IBM's other operations.
docs/reference/simulator.md tells what is served, refused and assumed.

`world` is the state, `cloud` handles requests, `settings` defines the settings, `strangers` acts as other users.
"""
