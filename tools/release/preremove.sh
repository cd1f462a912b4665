#!/bin/sh
# Runs before a removal, and with another argument before an upgrade, which stops nothing.
set -e
case "$1" in
remove | 0) # of dpkg, of rpm
	if [ -d /run/systemd/system ]; then
		systemctl disable --now redrain.service
	fi
	;;
esac
