#!/bin/sh
# Starts Redis with a copy of its configuration in the volume, which is made once. After a failover, Sentinel writes the new
# roles to the configuration, and a container that restarts must keep them.
set -eu
if [ ! -f /data/redis.conf ]; then
  {
    cat /etc/redis.conf
    # Announce the host name to Sentinel and clients, because the address changes when the container is created again.
    echo "replica-announce-ip $(hostname)"
    if [ "$(hostname)" != redis-1 ]; then echo "replicaof redis-1 6379"; fi
  } >/data/redis.conf
fi
exec redis-server /data/redis.conf
