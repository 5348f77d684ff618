# --chat renders the model's template, without a BOS of the tokenizer's own, and stops at the end of the turn.
cp -r "$ML_TEST_DATA/models/stories260K" model
chmod -R u+w model
cat > model/chat_template.jinja << 'END'
{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }} {% else %}{{ m.content }}{% endif %}{% endfor %}
END
ml-run model -n 12 --chat "Once upon a time"
ml-run model -n 12 --chat --ids --echo "Once upon a time" | cut -d' ' -f1-5
echo "upon a time" | ml-run model -n 12 --chat --system Once
# A template that asks for the day gets the one that is given, and no other.
printf "{{ bos_token }}{{ strftime_now('%%d %%b') }}" > model/chat_template.jinja
ml-run model -n 1 --chat --date 2026-11-30 --echo x > dated
head -c 6 dated
echo
rc=0; ml-run model -n 1 --chat x || rc=$?; [ $rc -eq 1 ]
rc=0; ml-run model -n 1 --chat --date soon x || rc=$?; [ $rc -eq 1 ]
rm model/chat_template.jinja
rc=0; ml-run model --chat x || rc=$?; [ $rc -eq 1 ]
printf '{%% raw %%}' > model/chat_template.jinja
rc=0; ml-run model --chat x || rc=$?; [ $rc -eq 1 ]
rc=0; ml-run model --system x y || rc=$?; [ $rc -eq 2 ]
