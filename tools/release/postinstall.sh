#!/bin/sh
# Runs after an installation and an upgrade. It restarts nothing: a node in a rain leaves when its operator says so.
set -e
systemd-sysusers redrain.conf
# The group did not exist when the files were unpacked.
chgrp redrain /etc/redrain /etc/redrain/secrets /etc/redrain/redrain.yaml
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
