#!/bin/sh
# Draws the secrets of compose.yaml into secrets/, once.
set -eu
cd "$(dirname "$0")"
[ -d secrets ] && exit
umask 027
mkdir secrets
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
random >secrets/operator-token
random >secrets/jwt-secret
random >secrets/database-password
printf 'redrain:%s@tcp(172.30.0.51:3307)/redrain' "$(cat secrets/database-password)" >secrets/mysql
chgrp -R 65532 secrets 2>/dev/null || chmod -R a+rX secrets # the user of the image
echo "operator token: $(cat secrets/operator-token)"
