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
printf 'redrain:%s@tcp(mariadb:3306)/redrain' "$(cat secrets/database-password)" >secrets/mysql
# The image's user reads them. Without root no group can be given away: then every user of this machine may read them.
chgrp -R 65532 secrets 2>/dev/null || chmod -R a+rX secrets
echo "operator token: $(cat secrets/operator-token)"
