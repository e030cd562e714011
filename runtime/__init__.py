"""The prepare path of RFC 1489: what a PowerContext server answers to `POST /v1/context/prepare`."""
