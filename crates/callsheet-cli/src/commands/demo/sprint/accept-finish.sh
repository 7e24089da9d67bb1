# A finished task stays in the file, with an x in front, so that nobody forgets what was done.
printf 'water the plants\nbuy milk\n' >"$TODO_FILE"
sh todo.sh finish 2
[ "$(cat "$TODO_FILE")" = "water the plants
x buy milk" ]
