#!/bin/sh
# Starts a Redis whose configuration Sentinel may change: after a fail-over it writes there who follows whom, and a container
# that starts again must not go back to how it was at first. Hence a copy in the volume, made once.
set -eu
if [ ! -f /data/redis.conf ]; then
  {
    cat /etc/redis.conf
    # Sentinel tells clients the names that servers announce; addresses change when a container is made anew.
    echo "replica-announce-ip $(hostname)"
    if [ "$(hostname)" != redis-1 ]; then echo "replicaof redis-1 6379"; fi
  } >/data/redis.conf
fi
exec redis-server /data/redis.conf
