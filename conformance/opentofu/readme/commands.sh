export TFE_HOSTNAME=localhost:8080 TFE_TOKEN=the-token-of-the-first-start
export SSL_CERT_FILE=path/to/bailiwick/data/tls/certificate.pem
tofu init && tofu apply
