ml-sample --show a '[b,c]' --stop '[x]' --stop y z -t 1 -t 3 --target=scalar -- - --type
