sh todo.sh add water the plants
grep -qx 'water the plants' "$TODO_FILE"
