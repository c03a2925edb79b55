# Runs a command in a bare machine: enter.sh ROOT UID FOLDER COUNT [FROM TO]… COMMAND…
# machine.mjs starts it in its own mount and process namespaces, so it need not undo its mounts.
set -e
root=$1 uid=$2 folder=$3 files=$4
shift 4

mount --bind "$root" "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"

# Copy the settings of this machine into memory. Only the user of the command may read them.
mkdir "$root/run/host"
while [ "$files" -gt 0 ]; do
  install -o "$uid" -g "$uid" -m 400 "$1" "$root$2"
  shift 2
  files=$((files - 1))
done

# Do not exec: as the first process of its namespace, this shell reaps orphaned processes.
trap 'kill -TERM "$child"' TERM
chroot --userspec="$uid:$uid" "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@" &
child=$!
status=0
wait "$child" || status=$?
# A trapped signal interrupts the first wait, so wait again until the command exits.
if kill -0 "$child" 2>/dev/null; then
  status=0
  wait "$child" || status=$?
fi
exit "$status"
