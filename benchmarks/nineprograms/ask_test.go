// SPDX-License-Identifier: Apache-2.0

package nineprograms

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestThePlainProgramsAreAnswered(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	programs := testtargets.First([]string{"python", "cpp", "go"})
	cmd := exec.CommandContext(ctx, "sh", slices.Concat([]string{"ask.sh", binary}, programs)...)
	cmd.Env = append(os.Environ(), "SECONDS_EACH=3")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rows := map[string]string{
		"cpp":    `(?m)^cpp: row \d: .*shop::Invoice::total.*\n  sleepers: shop::wait_for_cache`,
		"go":     `(?m)^go: row \d: .*main\.invoiceTotal.*\n  sleepers: main\.waitForOrders`,
		"python": `(?m)^python: row \d: .*invoice_total.*\n  sleepers: wait_for_cache`,
	}
	for _, program := range programs {
		if !regexp.MustCompile(rows[program]).Match(out) {
			t.Errorf("no %s in\n%s", rows[program], out)
		}
	}
}

func TestAnAnswerWithoutTheFunctionFails(t *testing.T) {
	const waits = "100% 1s  futex\n    function (wall)       module\n    shop::wait_for_cache  own\n"
	const head = "self%  self  total% total  function (cpu)  module\n"
	row := func(name string) string { return " 20%  1.0s     20%  1.0s  " + name + "  own\n" }
	own := row("shop::Invoice::total(int)")
	const kernels = " 20%  1.0s     20%  1.0s  shop::Invoice::total(int)  [kernel]\n"
	for _, c := range []struct {
		table, waits string
		record, exit int
		want         string
	}{
		{head + row("a") + own, waits, 0, 0, "cpp: row 2: "},
		{head + row("a shop::Invoice::total") + row("shop::Invoice::totals"), waits, 0, 1, "cpp: no function of its own"},
		{head + strings.Repeat(row("a"), 5) + own, waits, 0, 1, "cpp: no function of its own"},
		{head + kernels, waits, 0, 1, "cpp: no function of its own"},
		{head + row("[own] (unnamed)"), waits, 0, 1, "cpp: no function of its own"},
		{head + own, "", 0, 1, "sleepers: no function of its own"},
		{"", "", 1, 1, "cpp: not recorded"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"table": c.table, "waits": c.waits,
			"prywalk": fmt.Sprintf("#!/bin/sh\n"+`case "$*" in record*) exit %d ;; *--by*) cat %s ;; *) cat %s ;; esac`,
				c.record, filepath.Join(dir, "waits"), filepath.Join(dir, "table")),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "ask.sh", filepath.Join(dir, "prywalk"), "cpp")
		cmd.Env = append(os.Environ(), "SECONDS_BEFORE=0")
		out, _ := bounded.AllOutput(cmd)
		if code := cmd.ProcessState.ExitCode(); code != c.exit || !strings.Contains(string(out), c.want) {
			t.Errorf("exit code %d, want %d and %q:\n%s", code, c.exit, c.want, out)
		}
	}
}
