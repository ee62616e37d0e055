// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets/bounded"
)

func checkViewers(t *testing.T, r *recording) {
	t.Helper()
	want := total(r.Profile, cpuColumn)
	top := pprofTool(t, "-top", r.file)
	found := regexp.MustCompile(`of (\S+) total`).FindStringSubmatch(top)
	if found == nil {
		t.Fatalf("no total in pprof's output:\n%s", clip(top))
	}
	text := strings.NewReplacer("mins", "m", "hrs", "h").Replace(found[1])
	if got, err := time.ParseDuration(text); err != nil || !near(got, time.Duration(want)) {
		t.Errorf("pprof's total is %s, want %v, the profile's (%v)", found[1], time.Duration(want), err)
	}
	if raw := pprofTool(t, "-raw", r.file); !strings.Contains(raw, "cpu/nanoseconds") {
		t.Errorf("pprof -raw shows no cpu/nanoseconds:\n%s", clip(raw))
	}
	if got := foldedTotal(t, prywalk(t, "report", "--folded", "--value", "cpu", r.file).must(t, 0).stdout); got != want {
		t.Errorf("report's total is %d ns, want %d ns, the profile's", got, want)
	}
	if table := prywalk(t, "report", r.file).must(t, 0).stdout; !strings.Contains(table, "%") {
		t.Errorf("report's table has no percentage:\n%s", clip(table))
	}
}

func near(a, b time.Duration) bool { return (a - b).Abs() <= max(b/100, 10*time.Millisecond) }

func pprofTool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := bounded.Output(exec.Command("go", append([]string{"tool", "pprof"}, args...)...))
	if err != nil {
		t.Fatalf("go tool pprof %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func foldedTotal(t *testing.T, text string) int64 {
	t.Helper()
	var sum int64
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
		if err != nil {
			t.Fatalf("folded line %q: %v", line, err)
		}
		sum += n
	}
	return sum
}
