// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refused is what a value must not be.
const refused = "refused"

func TestValuesOfFlags(t *testing.T) {
	var pids PIDs
	var hz, share float64
	var bytes, memory int64
	var on bool
	var limit time.Duration
	for _, c := range []struct {
		name string
		flag pflag.Value
		kind string
		text map[string]string // what is given, and what the flag then is
	}{
		{"pids", &pids, "PID,…", map[string]string{"": refused, "0": refused, "-1": refused, "2147483648": refused,
			"1x":     refused,
			"7, 7,7": "7"}},
		{"frequency", Frequency(&hz), "HZ", map[string]string{"99": "99", "0.5": refused, "1": "1", "1e9": refused,
			"NaN":  refused,
			"fast": refused, "1000": "1000"}},
		{"bytes", Bytes(&bytes), "SIZE", map[string]string{"1": "1", "0": refused, "-1": refused, "4M": "4M", "4m": "4M",
			"4MB": "4M", "4MiB": "4M", "1K": "1K", "0.5K": "512", "2T": "2048G", "1025T": refused, "NaN": refused,
			"M": refused, "": refused,
			"4X": refused}},
		{"memory", Memory(&memory), "SIZE", map[string]string{"64M": "64M", "63M": refused, "2G": "2G", "1": refused}},
		{"switch", OnOff(&on), "on|off", map[string]string{"on": "on", "off": "off", "yes": refused, "true": refused,
			"": refused}},
		{"limit", MaxTime(&limit), "TIME", map[string]string{"off": "off", "30": "30s", "0": refused, "1e10": refused,
			"300000h": refused, "2min": "2m0s"}},
		{"share", MaxShare(&share), "PERCENT", map[string]string{"off": "off", "2": "2%", "100%": "100%", "101": refused}},
	} {
		if got := c.flag.Type(); got != c.kind {
			t.Errorf("%s: %q, want %q", c.name, got, c.kind)
		}
		for text, want := range c.text {
			before := c.flag.String()
			err := c.flag.Set(text)
			if want == refused && (err == nil || c.flag.String() != before) {
				t.Errorf("%s %q: %v, %q, want an error, and %q", c.name, text, err, c.flag, before)
			}
			if want != refused && (err != nil || c.flag.String() != want) {
				t.Errorf("%s %q: %v, %q, want %q", c.name, text, err, c.flag, want)
			}
		}
	}
	if err := pids.Set("9,8"); err != nil || !reflect.DeepEqual(pids, PIDs{7, 9, 8}) || pids.String() != "7,9,8" {
		t.Errorf("%v, %v", pids, err)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{Use: "prywalk", Args: cobra.ArbitraryArgs, RunE: func(*cobra.Command,
		[]string) error {
		return nil
	}}
	for _, name := range []string{"web", "report", "record"} {
		c := &cobra.Command{Use: name + " [flags]", Short: "the work of " + name, RunE: func(*cobra.Command,
			[]string) error {
			return nil
		}}
		c.Flags().IntP("count", "n", 3, "how many")
		c.Flags().String("output", "", "where `it` goes")
		c.Flags().StringSlice("label", []string{"a"}, "labels (default all)")
		c.Flags().Bool("secret", false, "not in the help")
		c.Flags().Var(Seconds(new(time.Duration)), "wait", "how long")
		_ = c.Flags().MarkHidden("secret")
		root.AddCommand(c)
	}
	root.PersistentFlags().Bool("quiet", false, "no messages")
	return root
}

func TestHelpListsCommandsTopicsAndFlags(t *testing.T) {
	root := command()
	var out bytes.Buffer
	root.SetOut(&out)
	if err := Usage(root); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"Usage:\n  prywalk COMMAND\n\nCommands:\n",
		"  record   the work of record\n", "\nTopics (prywalk help TOPIC):\n",
		"  limits    what prywalk cannot see or do\n",
		"\nFlags:\n      --quiet   no messages\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %q", text, want)
		}
	}
	if r, p, w := strings.Index(text, "  record"), strings.Index(text, "  report"), strings.Index(text,
		"  web"); r < 0 || r > p || p > w {
		t.Errorf("record at %d, report at %d, web at %d; want this order", r, p, w)
	}
	out.Reset()
	record, _, err := root.Find([]string{"record"})
	if err == nil {
		err = Usage(record)
	}
	const want = `Usage:
  prywalk record [flags]

Flags:
  -n, --count N        how many (default 3)
      --label NAME,…   labels (default all)
      --output it      where it goes
      --wait TIME      how long

Global flags:
      --quiet   no messages
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestColumnsOfHelpAreIndentedLessWhereTheFirstIsWide(t *testing.T) {
	for width, want := range map[int]string{
		0:  "",
		40: "  --flag VALUE   what it does\n  -x             less\n",
		20: "  --flag VALUE\n      what it does\n  -x  less\n",
	} {
		var b strings.Builder
		writeColumns(&b, [][2]string{{"--flag VALUE", "what it does"}, {"-x", "less"}}, width)
		if width > 0 && b.String() != want {
			t.Errorf("in %d columns:\n%s, want\n%s", width, b.String(), want)
		}
	}
}

func TestHelpOnTopicsAndCommands(t *testing.T) {
	for _, c := range []struct {
		args       []string
		want, fail string
	}{
		{[]string{"help", "limits"}, "# ", ""},
		{[]string{"help", "record"}, "Usage:\n  prywalk record", ""},
		{[]string{"help", "recrod"}, "",
			`unknown command "recrod" (do you mean prywalk record?); prywalk --help lists the commands`},
		{[]string{"help", "zzzzzzzz"}, "", `unknown command "zzzzzzzz"; prywalk --help lists the commands`},
		{[]string{"help"}, "Usage:\n  prywalk COMMAND", ""},
	} {
		root := command()
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetHelpCommand(NewHelp())
		root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = Usage(cmd) })
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(c.args)
		err := root.Execute()
		if c.fail == "" && (err != nil || !strings.Contains(out.String(), c.want)) || c.fail != "" && (err == nil ||
			err.Error() != c.fail) {
			t.Errorf("%q: %v, %.80q; want %q%s", c.args, err, out.String(), c.want, c.fail)
		}
	}
}

func TestTheFirstArgumentIsACommandOrAFlag(t *testing.T) {
	for arg, ok := range map[string]bool{"record": true, "-p": true, "": true, cobra.ShellCompRequestCmd: true,
		"help":       true,
		"completion": true, "rec": false, "a.out": false} {
		if err := UnknownCommand(command(), []string{arg}); (err == nil) != ok {
			t.Errorf("%q: %v", arg, err)
		}
	}
	if err := UnknownCommand(command(), nil); err != nil {
		t.Error(err)
	}
}

func TestWrongFlagsSayWhatToGive(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--count=x", `--count: "x" is not a valid value: give a whole number; see prywalk record --help`},
		{"--count=99999999999999999999",
			`--count: "99999999999999999999" is out of range: give a whole number; see prywalk record --help`},
		{"--quiet=x",
			`--quiet: "x" is not a valid value: the flag takes no value, or true or false; see prywalk record --help`},
		{"--size=x",
			`--size: "x" is not a size: give a number of bytes, or one with K, M or G, such as 4M; see prywalk record --help`},
		{"--wait=x", `--wait: "x" is not a duration: give seconds (30) or a number with a unit (30s, 2m, 10min); see ` +
			`prywalk record --help`},
		{"--none", `unknown flag: --none; see prywalk record --help`},
	} {
		root := command()
		record, _, err := root.Find([]string{"record"})
		if err != nil {
			t.Fatal(err)
		}
		var size int64
		record.Flags().Var(Bytes(&size), "size", "")
		err = record.ParseFlags([]string{c.args})
		if err == nil {
			err = errors.New("accepted")
		}
		if got := WrongFlag(record, err).Error(); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}
