# Lists the commands.
for file in "$(dirname "$0")"/*.sh; do
    basename "$file" .sh
done
