mlb-info --diff a.mlb
