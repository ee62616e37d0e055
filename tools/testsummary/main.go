// SPDX-License-Identifier: Apache-2.0

// Testsummary judges a run of go test -json, and prints the slowest tests, what was skipped and what brings it, and
// which tests are flaky. A test that failed is run twice more by itself, with the same flags and environment, unless it
// took over five minutes. If it passes both times it is flaky: its first output is printed and kept, and the run does
// not fail. The status is 1 if a test failed again, or took so long, if more than three were flaky, if a package was
// not built, or ended before its last test; the last line has the numbers.
//
//	testsummary [-complete] [-status STATUS] [-modules DIRS] [-kept DIR] EVENTS [FLAGS OF GO TEST...]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// slowest is the number of tests that are printed.
const slowest = 20

type summary struct {
	out      io.Writer
	kept     string
	complete bool // every program is installed, so no test may lack one
	status   int
	run      *run
	again    func(name) (output string, ok bool)

	flaky  []*outcome
	failed []string
}

func main() {
	s := summary{out: os.Stdout}
	flag.BoolVar(&s.complete, "complete", false, "a test that is skipped for a program fails: all are installed")
	flag.IntVar(&s.status, "status", 0, "the exit status of go test")
	flag.StringVar(&s.kept, "kept", "bench", "the directory of flaky.txt and skipped.txt")
	dirs := flag.String("modules", ".", "the directories of the modules, separated by commas")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := s.main(strings.Split(*dirs, ","), flag.Arg(0), flag.Args()[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func (s *summary) main(dirs []string, events string, flags []string) (bool, error) {
	m, err := readModules(dirs)
	if err != nil {
		return false, err
	}
	f, err := os.Open(events)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if s.run, err = read(f); err != nil {
		return false, err
	}
	s.again = func(n name) (string, bool) { return again(m, flags, n) }
	s.judge()
	s.print()
	return len(s.failed) == 0, s.keep()
}

func (s *summary) judge() {
	for _, p := range s.run.broken() {
		s.failed = append(s.failed, p.pkg)
		fmt.Fprintf(s.out, "\nFAILED, and not run again: %s\n%s", p.pkg, indent(p.output.String()))
	}
	failures := s.run.failures()
	for i, o := range failures {
		if o.elapsed > mostSeconds {
			fmt.Fprintf(s.out, "\nFAILED after %.0f s, and not run again for its length: %s %s\n", o.elapsed, o.pkg, o.test)
		} else if i < mostAgain && s.passesAgain(o) {
			s.flaky = append(s.flaky, o)
			continue
		}
		s.failed = append(s.failed, o.pkg+" "+o.test)
	}
	if len(s.flaky) > mostFlaky {
		s.failed = append(s.failed, fmt.Sprintf("%d tests are flaky, more than %d", len(s.flaky), mostFlaky))
	}
	needs, _ := s.run.skips()
	for _, n := range needs {
		if s.complete && strings.Contains(n.remedy, setUp) {
			s.failed = append(s.failed, "skipped where all is installed: "+n.text)
		}
	}
	switch {
	case s.status != 0 && len(s.failed)+len(failures) == 0:
		s.failed = append(s.failed, fmt.Sprintf("go test ended with status %d, and no test failed", s.status))
	case len(s.run.tests) == 0:
		s.failed = append(s.failed, "no test was run")
	}
}

func (s *summary) passesAgain(o *outcome) bool {
	for i := range times {
		fmt.Fprintf(s.out, "\nrunning %s %s again: ", o.pkg, o.test)
		output, ok := s.again(o.name)
		if !ok {
			fmt.Fprintf(s.out, "it failed again\n%s", indent(output))
			return false
		}
		fmt.Fprintf(s.out, "passed %d of %d\n", i+1, times)
	}
	return true
}

func (s *summary) print() {
	s.printSlowest()
	needs, left := s.run.skips()
	if len(needs) > 0 {
		fmt.Fprintf(s.out, "\nSkipped (%s has the names):\n", filepath.Join(s.kept, "skipped.txt"))
	}
	for _, n := range needs {
		n.print(s.out, false)
	}
	if len(left) > 0 {
		fmt.Fprintf(s.out, "\nLeft to make test-all: %s\n", tests(len(left)))
	}
	if len(s.flaky) > 0 {
		fmt.Fprintf(s.out, "\nFLAKY: failed once, and passed %d times by itself:\n", times)
	}
	for _, o := range s.flaky {
		fmt.Fprintf(s.out, "%s %s\n%s", o.pkg, o.test, indent(o.output.String()))
	}
	if len(s.failed) > 0 {
		fmt.Fprintf(s.out, "\nFAILED:\n  %s\n", strings.Join(s.failed, "\n  "))
	}
	took := s.run.end.Sub(s.run.begin).Round(100 * time.Millisecond)
	fmt.Fprintf(s.out, "\nDONE %d tests, %d flaky, in %v\n", len(s.run.tests), len(s.flaky), took)
	passed, skipped := s.counts()
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", passed, len(s.failed), skipped)
}

// counts has a flaky test, and those around it, among those that passed.
func (s *summary) counts() (passed, skipped int) {
	flaky := map[name]bool{}
	for _, o := range s.flaky {
		flaky[o.function()] = true
	}
	for _, o := range s.run.tests {
		switch {
		case o.result == "skip":
			skipped++
		case o.result == "pass", flaky[o.function()]:
			passed++
		}
	}
	return passed, skipped
}

func (s *summary) printSlowest() {
	var functions []*outcome
	for n, o := range s.run.tests {
		if n == n.function() {
			functions = append(functions, o)
		}
	}
	slices.SortFunc(functions, func(a, b *outcome) int {
		return cmp.Or(cmp.Compare(b.elapsed, a.elapsed), strings.Compare(a.pkg+a.test, b.pkg+b.test))
	})
	functions = functions[:min(slowest, len(functions))]
	fmt.Fprintf(s.out, "\nThe slowest %d:\n", len(functions))
	for _, o := range functions {
		fmt.Fprintf(s.out, "  %6.1f s  %s %s\n", o.elapsed, o.pkg, o.test)
	}
}

// keep writes the names of skipped tests, and appends the flaky ones, with the date and the first output.
func (s *summary) keep() error {
	if err := os.MkdirAll(s.kept, 0o777); err != nil {
		return err
	}
	var text strings.Builder
	needs, left := s.run.skips()
	for _, n := range append(needs, &skip{text: leftOut, tests: left}) {
		n.print(&text, true)
	}
	err := os.WriteFile(filepath.Join(s.kept, "skipped.txt"), []byte(text.String()), 0o666)
	if err != nil || len(s.flaky) == 0 {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.kept, "flaky.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	for _, o := range s.flaky {
		if _, err := fmt.Fprintf(f, "%s %s %s\n%s\n", time.Now().UTC().Format(time.DateTime), o.pkg, o.test,
			indent(o.output.String())); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}
