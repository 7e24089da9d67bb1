#!/bin/sh
# A to-do list in a text file: `sh todo.sh COMMAND [ARGUMENT...]` runs commands/COMMAND.sh.
set -eu

here=$(dirname "$0")
TODO_FILE=${TODO_FILE:-todo.txt}
export TODO_FILE

command=${1:-help}
case $command in
    *[!a-z]*) command=help ;;
esac
if [ ! -f "$here/commands/$command.sh" ]; then
    echo "todo: no command named $command" >&2
    exit 2
fi
[ "$#" -eq 0 ] || shift
exec sh "$here/commands/$command.sh" "$@"
