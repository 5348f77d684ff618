# On a terminal --chat is a conversation: a line is a message, end of file its end.
command -v script > /dev/null || { echo "no script(1)"; exit 77; }
cp -r "$ML_TEST_DATA/models/stories260K" model
chmod -R u+w model
printf "{{ bos_token }}{%% for m in messages %%}{{ m.content }}{%% endfor %%}" > model/chat_template.jinja
printf 'Once upon a time\n\nLily\n' > lines
script -qec "ml-run model -n 8 --chat" -O typescript < lines > /dev/null || true
grep -q ', there was a little girl' typescript
[ "$(grep -c '^> ' typescript)" -ge 2 ]
