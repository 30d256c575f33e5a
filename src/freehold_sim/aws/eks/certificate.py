"""The certificate authority that every simulated cluster shows: valid in form, self-signed, its key thrown away."""

from base64 import b64encode

_PEM = """\
-----BEGIN CERTIFICATE-----
MIIBqDCCAU6gAwIBAgIUZwyeyXuWklW8R5Ec5JmkIFp8nfcwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjgwMjE1MTNaGA8yMTI2MTEw
NDAyMTUxM1owFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABOtjlCni+v2S8/LC5LWEjU22JwtaWTXvACLJG5UKN2tOrOe/KYit
expaWfAr3wEhD5zfjZd5Om/W/ngUOPicmkOjejB4MB0GA1UdDgQWBBT+GwUCpUsa
VSHkJKhBEINP5rOmWTAfBgNVHSMEGDAWgBT+GwUCpUsaVSHkJKhBEINP5rOmWTAP
BgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwICpDAVBgNVHREEDjAMggprdWJl
cm5ldGVzMAoGCCqGSM49BAMCA0gAMEUCIQDhl9FN7PPFygscHMwFICmgyYMCIpw/
iAECSwRkkIWhGQIgJtmR2RLaXKkaljmLoE/OkN83M3sHTWORxVFZO2OSq/4=
-----END CERTIFICATE-----
"""
DATA = b64encode(_PEM.encode()).decode()
"""As in ``certificateAuthority.data``: the PEM text in base64."""
