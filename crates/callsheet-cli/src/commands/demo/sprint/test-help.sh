sh todo.sh help | grep -qx help
sh todo.sh | grep -qx help
