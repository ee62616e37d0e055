// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	// times that a test which failed is run again.
	times = 2
	// mostFlaky tests may have failed first. With more, something is wrong with the product, the tests or the machine.
	mostFlaky = 3
	// mostAgain functions are run again: with more, the outcome is no question of chance.
	mostAgain = 10
	// mostSeconds are what a test may take to be run again: others, as emulated machines, would take what is left of CI's
	// time.
	mostSeconds = 300
)

// pattern is that of -run for one test and its subtests.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// passed looks for the test's own line, as go test of a pattern without a test ends well.
func passed(output, test string) bool {
	for line := range strings.Lines(output) {
		if strings.HasPrefix(strings.TrimSpace(line), "--- PASS: "+test+" (") {
			return true
		}
	}
	return false
}

// modules are the directories of modules by their paths.
type modules map[string]string

func readModules(dirs []string) (modules, error) {
	all := modules{}
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if path, ok := strings.CutPrefix(line, "module "); ok {
				all[strings.TrimSpace(path)] = dir
			}
		}
	}
	return all, nil
}

// of takes the module with the longest path.
func (m modules) of(pkg string) string {
	dir, longest := ".", -1
	for path, d := range m {
		if (pkg == path || strings.HasPrefix(pkg, path+"/")) && len(path) > longest {
			dir, longest = d, len(path)
		}
	}
	return dir
}

// again runs one test by itself, and returns its output and whether it passed.
func again(m modules, flags []string, n name) (string, bool) {
	args := append([]string{"-C", m.of(n.pkg), "test"}, flags...)
	cmd := exec.Command("go", append(args, "-count=1", "-v", "-run", pattern(n.test), n.pkg)...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil && passed(string(out), n.test)
}
