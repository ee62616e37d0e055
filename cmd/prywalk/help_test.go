// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/commandline"
)

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetArgs(append(args, "--help"))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var goType = regexp.MustCompile(`--[a-z-]+ (?:u?ints?(?:64)?|float\w*|strings?|stringArray)\s`)

func TestHelpNamesValuesByWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range newRoot().Commands() {
		if c.Hidden || c.Name() == "completion" {
			continue
		}
		if m := goType.FindString(helpOf(t, c.Name())); m != "" {
			t.Errorf("help %s: %q: the kind of the value is a Go type; name it in values or kinds", c.Name(), m)
		}
	}
}

func TestHelpListsTheMostUsedCommandsFirst(t *testing.T) {
	t.Parallel()
	_, list, _ := strings.Cut(helpOf(t), "\nCommands:\n")
	for i, line := range strings.Split(list, "\n")[:len(commandline.FirstCommands)] {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != commandline.FirstCommands[i] {
			t.Errorf("command %d of the list is %q, want %q", i, name, commandline.FirstCommands[i])
		}
	}
}

func TestAnUnreadableCoreHasANextStep(t *testing.T) {
	t.Parallel()
	for err, next := range map[error]string{os.ErrPermission: "read it as its owner or as root",
		os.ErrNotExist: "give the path of a core file"} {
		if got := withCoreRemedy(err); !errors.Is(got, err) || !strings.HasSuffix(got.Error(), "; "+next) {
			t.Errorf("%v, want %q", got, next)
		}
	}
}

func TestHelpHasTheExitCodesOfRefusals(t *testing.T) {
	t.Parallel()
	_, unreadable := withReadRemedy(nil, os.ErrPermission)
	meanings := map[int]string{errs.ExitDenied: "3 permission denied", errs.ExitNoSamples: "4 no samples"}
	for command, err := range map[string]error{"report": unreadable, "diff": unreadable, "agent": errs.Traced,
		"dump": errs.Denied, "record": errs.Traced, "top": errs.Traced} {
		if want := meanings[exitCode(err)]; want == "" || !strings.Contains(helpOf(t, command), want) {
			t.Errorf("help %s lacks %q, of: %v", command, want, err)
		}
	}
}

func TestValueThatIsNoPairIsRefusedInTheWordsOfHelp(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--attribute", "--header"} {
		root := newRoot()
		root.SetArgs([]string{"agent", "-a", flag, "x"})
		err := root.Execute()
		_, form, ok := strings.Cut(fmt.Sprint(err), flag+" x: give ")
		if exitCode(err) != errs.ExitUsage || !ok || !strings.Contains(helpOf(t, "agent"), flag+" "+form) {
			t.Errorf("%s: %v; help has another word", flag, err)
		}
	}
}

func TestHelpForAnUnknownCommandIsWrongUsage(t *testing.T) {
	t.Parallel()
	root := newRoot()
	root.SetArgs([]string{"help", "recordd"})
	err := root.Execute()
	if exitCode(err) != errs.ExitUsage || !strings.Contains(err.Error(), "do you mean prywalk record?") {
		t.Errorf("help recordd: %v", err)
	}
}

// longestLine leaves room beside another column; command texts are not wrapped.
const longestLine = 90

func TestTextsOfCommandsFitOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range newRoot().Commands() {
		for line := range strings.Lines(c.Long) {
			if n := len([]rune(line)); !c.Hidden && c.Name() != "completion" && n > longestLine {
				t.Errorf("help %s: a line of %d characters: %s", c.Name(), n, line)
			}
		}
	}
}

func TestHelpShowsThePagesOfTopics(t *testing.T) {
	t.Parallel()
	for topic, want := range map[string]string{
		"rights": "ptrace_scope", "names": "no-rule", "limits": "uninterruptible", "formats": "runqueue/nanoseconds",
		"waiting": "deadlock unknown", "noticed": "--max-overhead 1%", "errors": "without a sample",
	} {
		var out bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetArgs([]string{"help", topic})
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("help %s lacks %q (%v):\n%s", topic, want, err, out.String())
		}
	}
}
