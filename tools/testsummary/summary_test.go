// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stream is the events of a run. A line is "PACKAGE ACTION", "PACKAGE ACTION TEST" or "PACKAGE output TEST TEXT"; the
// test - is the package itself.
func stream(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(parts) < 2 {
			continue
		}
		parts = append(parts, "-", "")[:4]
		if parts[2] == "-" {
			parts[2] = ""
		}
		text := strings.ReplaceAll(parts[3], `\n`, "\n") + "\n"
		fmt.Fprintf(&b, "{\"Package\":%q,\"Action\":%q,\"Test\":%q,\"Output\":%q,\"Elapsed\":1}\n",
			parts[0], parts[1], parts[2], text)
	}
	return b.String()
}

// judged judges a run. Of the tests that are run again those in green pass, as often as it says.
func judged(t *testing.T, events string, green map[string]int, change func(*summary)) (*summary, string) {
	t.Helper()
	run, err := read(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &summary{out: &out, kept: t.TempDir(), run: run}
	s.again = func(n name) (string, bool) {
		green[n.test]--
		return "second output\n", green[n.test] >= 0
	}
	if change != nil {
		change(s)
	}
	s.judge()
	s.print()
	if err := s.keep(); err != nil {
		t.Fatal(err)
	}
	return s, out.String()
}

const failing = `
a/b start
a/b run TestX
a/b run TestX/one
a/b output TestX/one     x_test.go:3: first output
a/b fail TestX/one
a/b fail TestX
a/b run TestY
a/b pass TestY
a/b fail
`

func TestAFailureThatPassesTwiceIsFlakyAndNoFailure(t *testing.T) {
	green := map[string]int{"TestX/one": 2}
	s, text := judged(t, stream(failing), green, func(s *summary) { s.status = 1 })
	if len(s.failed) != 0 || len(s.flaky) != 1 || green["TestX/one"] != 0 {
		t.Errorf("failed %q, %d flaky, %d runs left", s.failed, len(s.flaky), green["TestX/one"])
	}
	if !strings.Contains(text, "FLAKY:") || !strings.Contains(text, "first output") {
		t.Errorf("flaky, and its first output, are not printed:\n%s", text)
	}
	if !strings.HasSuffix(text, "\n3 passed, 0 failed, 0 skipped\n") {
		t.Errorf("the last line is another one:\n%s", text)
	}
	kept, err := os.ReadFile(filepath.Join(s.kept, "flaky.txt"))
	if err != nil || !strings.Contains(string(kept), "a/b TestX/one\n    ") ||
		!strings.Contains(string(kept), "first output") {
		t.Errorf("kept is %q, %v", kept, err)
	}
}

func TestAFailureThatFailsOnceAgainFails(t *testing.T) {
	for passes := range times {
		s, text := judged(t, stream(failing), map[string]int{"TestX/one": passes}, nil)
		if len(s.failed) != 1 || s.failed[0] != "a/b TestX/one" || !strings.Contains(text, "second output") {
			t.Errorf("passed %d times: failed %q:\n%s", passes, s.failed, text)
		}
		if _, err := os.Stat(filepath.Join(s.kept, "flaky.txt")); err == nil {
			t.Error("it is kept as flaky")
		}
	}
}

func TestAFunctionWithSeveralFailedSubtestsIsRunAgainAsAWhole(t *testing.T) {
	events := stream(`
a start
a fail TestX/one
a fail TestX/two
a fail TestX
a fail
`)
	s, _ := judged(t, events, map[string]int{"TestX": 2}, nil)
	if len(s.failed) != 0 || len(s.flaky) != 1 {
		t.Errorf("failed %q, %d flaky", s.failed, len(s.flaky))
	}
}

func TestALongTestIsNotRunAgain(t *testing.T) {
	for _, several := range []string{"", "a/b fail TestX/two\n"} {
		for elapsed, failed := range map[string]int{"300": 0, "300.1": 1} {
			events := strings.ReplaceAll(stream(failing+several), `"Elapsed":1`, `"Elapsed":`+elapsed)
			green := map[string]int{"TestX/one": times, "TestX": times}
			if s, text := judged(t, events, green, nil); len(s.failed) != failed || len(s.flaky) != 1-failed ||
				strings.Contains(text, "not run again for its length") != (failed > 0) {
				t.Errorf("%s s, %q: failed %q, %d flaky:\n%s", elapsed, several, s.failed, len(s.flaky), text)
			}
		}
	}
}

func TestMoreThanThreeFlakyTestsFail(t *testing.T) {
	for n := mostFlaky; n <= mostFlaky+1; n++ {
		green := map[string]int{}
		var b strings.Builder
		b.WriteString("a start\n")
		for i := range n {
			name := fmt.Sprintf("Test%d", i)
			fmt.Fprintf(&b, "a fail %s\n", name)
			green[name] = times
		}
		b.WriteString("a fail\n")
		if s, _ := judged(t, stream(b.String()), green, nil); len(s.failed) != n-mostFlaky {
			t.Errorf("%d flaky: failed %q", n, s.failed)
		}
	}
}

func TestWhatNoTestCanRefuteFailsAtOnce(t *testing.T) {
	for what, events := range map[string]string{
		"a build that failed":   "a start\na output - FAIL a [build failed]\na fail\n",
		"a clean-up at the end": "a start\na pass TestX\na fail\n",
		"a panic": "a start\na output TestX panic: no [recovered]\\n\\ngoroutine 7 [running]:\n" +
			"a fail TestX\na fail\n",
		"a time limit": "a start\na run TestX\na output - panic: test timed out after 1s\na fail\n",
		"a killed run": "a start\na run TestX\n",
		"no tests":     "",
	} {
		s, text := judged(t, stream(events), map[string]int{"TestX": 2}, nil)
		if len(s.failed) == 0 {
			t.Errorf("%s fails nothing:\n%s", what, text)
		}
	}
	s, _ := judged(t, stream("a start\na pass TestX\na pass\n"), nil, func(s *summary) { s.status = 2 })
	if len(s.failed) != 1 {
		t.Errorf("go test's own status: failed %q", s.failed)
	}
}

const skipping = `
a start
a output TestA     a_test.go:3: needs php: sudo make setup-all
a skip TestA
a output TestB     a_test.go:4: needs php: sudo make setup-all
a skip TestB
a output TestC     needs.go:9: needs root to make a pid namespace: sudo make test
a skip TestC
a output TestD     a_test.go:4: left to make test-all: an hour
a skip TestD
a output TestE     a_test.go:7: on arm64
a skip TestE
a output TestF     needs.go:9: needs Debian's kernels in emulated machines: make test-kernels
a skip TestF
a pass
`

func TestSkippedTestsAreCountedByWhatBringsThem(t *testing.T) {
	s, text := judged(t, stream(skipping), nil, nil)
	want := `  needs Debian's kernels in emulated machines: make test-kernels (1 test)
  needs php: sudo make setup-all (2 tests)
  needs root to make a pid namespace: sudo make test (1 test)
  on arm64 (1 test)

Left to make test-all: 1 test
`
	if !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(s.failed) != 0 || !strings.HasSuffix(text, "\n0 passed, 0 failed, 6 skipped\n") {
		t.Errorf("failed %q:\n%s", s.failed, text)
	}
	names, err := os.ReadFile(filepath.Join(s.kept, "skipped.txt"))
	if err != nil || strings.Count(string(names), "a Test") != 6 {
		t.Errorf("names are %q, %v", names, err)
	}
}

func TestASkipForAProgramFailsWhereAllAreInstalled(t *testing.T) {
	s, _ := judged(t, stream(skipping), nil, func(s *summary) { s.complete = true })
	if len(s.failed) != 1 || !strings.Contains(s.failed[0], "php") {
		t.Errorf("failed %q", s.failed)
	}
}

func TestATestIsRunAgainByItself(t *testing.T) {
	const test = "TestX/a.b(c)#01"
	if got, want := pattern(test), `^TestX$/^a\.b\(c\)#01$`; got != want {
		t.Errorf("pattern %s, want %s", got, want)
	}
	m := modules{"p": ".", "p/tools": "tools"}
	for pkg, want := range map[string]string{
		"p": ".", "p/a": ".", "p/tools": "tools", "p/tools/a": "tools", "p/toolsmith": ".",
	} {
		if got := m.of(pkg); got != want {
			t.Errorf("%s is of %s", pkg, got)
		}
	}
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26.0\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n" +
			"\tt.Run(\"good\", func(*testing.T) {})\n\tt.Run(\"skips\", func(t *testing.T) { t.Skip() })\n" +
			"\tt.Run(\"bad\", func(t *testing.T) { t.Fail() })\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, err := readModules([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for test, want := range map[string]bool{
		"TestX/good": true, "TestX/bad": false, "TestX/skips": false, "TestX/none": false,
	} {
		if out, ok := again(found, []string{"-vet=off"}, name{"p", test}); ok != want {
			t.Errorf("%s passed: %v\n%s", test, ok, out)
		}
	}
}

func TestEventsAmongOtherTextAreRead(t *testing.T) {
	run, err := read(strings.NewReader("go: downloading x\n" + stream(failing) + "{\"Package"))
	if err != nil || len(run.tests) != 3 || len(run.packages) != 1 {
		t.Errorf("%d tests, %d packages, %v", len(run.tests), len(run.packages), err)
	}
}
