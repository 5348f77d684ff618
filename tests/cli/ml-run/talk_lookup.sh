# In a conversation, too, guesses may be more than --batch: they change no bit where layers have windows.
command -v script > /dev/null || { echo "no script(1)"; exit 77; }
cp -r "$ML_TEST_DATA/oracle/mistral-sliding" model
chmod -R u+w model
python3 - "$ML_TEST_DATA/models/stories260K/tokenizer.json" << 'END'
import json, sys
tokenizer = json.load(open(sys.argv[1]))
model = tokenizer["model"]
model["vocab"] = {piece: i for piece, i in model["vocab"].items() if i < 320}
known = lambda merge: merge if isinstance(merge, list) else merge.split(" ")
model["merges"] = [m for m in model["merges"] if {*known(m), "".join(known(m))} <= model["vocab"].keys()]
json.dump(tokenizer, open("model/tokenizer.json", "w"))
END
printf "{{ bos_token }}{%% for m in messages %%}{{ m.content }}{%% endfor %%}" > model/chat_template.jinja
printf 'Once\nLily\n' > lines
talk() { script -qec "ml-run model --chat -n 60 $1" -O "$2" < lines > /dev/null; sed -i '/^Script /d' "$2"; }
talk "" plain
for options in "-b 1 --lookup 64" "-b 1 --draft model --n-draft 64" "--lookup 1024"; do
  talk "$options" guessed
  cmp plain guessed
done
