use super::*;

fn marked() -> Xml {
    Xml { prefix: "]<]minimax[>[".into(), entities: false, parts: None }
}

/// The arguments of a marked call, before the closing tag of its head.
fn marked_args(tool: &str, inside: &str) -> Result<String, String> {
    let text = format!("{inside}§</invoke>").replace('§', "]<]minimax[>[");
    let (form, tool) = (marked(), format!("{tool:?}"));
    let outcome = |cuts: &[usize]| {
        let mut calls = Calls::new(scope());
        let mut reader = XmlArgs::new(0);
        for upto in cuts.iter().copied().chain([text.len()]) {
            let end = reader.read(&form, &tool, &text.as_bytes()[..upto], &mut calls);
            match end.map_err(|problem| problem.located(text.as_bytes()).to_string())? {
                None => {}
                Some(end) => {
                    assert_eq!(&text[end..], "]<]minimax[>[</invoke>", "{inside}");
                    let problem = calls.take().err();
                    let problem =
                        problem.map(|problem| problem.located(text.as_bytes()).to_string());
                    return problem.map_or_else(|| Ok(reader.take()), Err);
                }
            }
        }
        let missing = reader.cut_off(&form, &tool, text.as_bytes(), &mut calls);
        missing.map_err(|problem| problem.located(text.as_bytes()).to_string())
    };
    let whole = outcome(&[]);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for at in &places {
        assert_eq!(outcome(&[*at]), whole, "{inside} cut at {at}");
    }
    assert_eq!(outcome(&places), whole, "{inside} character by character");
    whole
}

#[test]
fn marked_arguments_end_in_front_of_the_tag_that_closes_the_call() {
    for (inside, expected) in [
        ("", "{}"),
        ("\n", "{}"),
        ("§<c>a <b> & &amp; c§</c>", "{\"c\": \"a <b> & &amp; c\"}"),
        ("\n§<n>1§</n>\n§<b>True§</b>\n", "{\"n\": 1, \"b\": true}"),
        (
            "§<c>§</invoke> § §<c> x§</c>§<n>1§</n>",
            "{\"c\": \"]<]minimax[>[</invoke> ]<]minimax[>[ ]<]minimax[>[<c> x\", \"n\": 1}",
        ),
        ("§<ss>§<item>a§</item>§<item>b§</item>§</ss>", "{\"ss\": [\"a\", \"b\"]}"),
        ("§<list>§<item>a§</item>§</list>", "{\"list\": [\"a\"]}"),
        ("§<list>§<t>1§</t>§<t>2§</t>§</list>", "{\"list\": {\"t\": [1, 2]}}"),
        ("§<a b>x§</a b>§<t<u>y§</t<u>", "{\"a b\": \"x\", \"t<u\": \"y\"}"),
        ("§<x>5.0§</x>§<ss>\n §</ss>", "{\"x\": 5, \"ss\": []}"),
        (
            "§<list>hi §<k>v§</k> there\n§</list>",
            "{\"list\": {\"k\": \"v\", \"$text\": \"hi  there\"}}",
        ),
        ("§<list>x§<$text>1§</$text>§</list>", "{\"list\": {\"$text\": 1, \"$$text\": \"x\"}}"),
        (
            "§<list>x§<list>y§<k>z§</k>§</list>§</list>",
            "{\"list\": {\"list\": {\"k\": \"z\", \"$text\": \"y\"}, \"$text\": \"x\"}}",
        ),
        ("§<c>x§<k>v§</k>§</c>", "{\"c\": \"x]<]minimax[>[<k>v]<]minimax[>[</k>\"}"),
        ("§<c/>§<k><![CDATA[1]]>§</k>", "{\"c\": \"\", \"k\": \"<![CDATA[1]]>\"}"),
    ] {
        assert_eq!(marked_args("f", inside).as_deref(), Ok(expected), "{inside}");
    }
    for (inside, expected) in [
        ("§<n>1", "expected \"</n>\", found \"</invoke>\" at line 1, column 18."),
        ("§<n>1§</m>", "expected \"</n>\", found \"</m>\" at line 1, column 18."),
        ("§<n>1§</n>x", "expected an argument, found \"x\" at line 1, column 35."),
        ("§<c>1", "the text ended before \"</c>\" at line 1, column 40."),
    ] {
        assert_eq!(marked_args("f", inside), Err(expected.to_owned()), "{inside}");
    }
}

#[test]
fn marked_arguments_without_their_end_count_where_none_is_cut() {
    let cut_off = |text: &str| {
        let text = text.replace('§', "]<]minimax[>[");
        let mut calls = Calls::new(scope());
        let mut reader = XmlArgs::new(0);
        assert_eq!(
            reader.read(&marked(), "\"f\"", text.as_bytes(), &mut calls),
            Ok(None),
            "{text}"
        );
        reader.cut_off(&marked(), "\"f\"", text.as_bytes(), &mut calls).ok()
    };
    for (text, expected) in [
        ("", Some("{}")),
        ("§<n>1§</n>", Some("{\"n\": 1}")),
        ("§<n>1§</n>\n§</inv", Some("{\"n\": 1}")),
        ("§<c>1§</c> ", Some("{\"c\": \"1\"}")),
        ("§<c>1", None),
        ("§<c>1§</c", None),
        ("§<n>1§</n>§<", None),
        ("§<n>1§</n>]", None),
        ("§<o>§<search>1§</search>", None),
    ] {
        assert_eq!(cut_off(text).as_deref(), expected, "{text}");
    }
}
