# SPDX-License-Identifier: Apache-2.0
# Starts a driver on a host. launch.py gives this text to `sh -c` there.
# $1: name of the part, $2: address of the lead process, $3: the lead's own program. The other words go to the driver.
part=$1 join=$2 own=$3
shift 3
umask 077
for program in "$own" "$(command -v querytape)" "$HOME/.local/bin/querytape" ""; do
    test -x "$program" && break
done
if test -z "$program"; then
    echo "querytape was not found on this host" >&2
    exit 127
fi
# An address without a host is the host from which ssh came.
case $join in
    :*) join="[${SSH_CONNECTION%% *}]$join" ;;
esac
"$program" driver "$@" --join "$join" -o "$part.run" >"$part.log" 2>&1 </dev/null
code=$?
test $code = 0 || tail -n 5 -- "$part.log" >&2
test -e "$part.run" || rm -f -- "$part.log" # the log stays only with the part
exit $code
