// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func launch(t *testing.T, args ...string) (result, string) {
	t.Helper()
	dir := scratch(t, nil)
	return command{args: append([]string{"record", "-o", "r.pb.gz", "--"}, args...), dir: dir}.run(t), dir
}

func TestCommandsStatusBecomesTheExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script string
		code   int
	}{
		{"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", 0},
		{"exit 3", 3},
		{"kill -TERM $$", 128 + 15},
		{"kill -KILL $$", 128 + 9},
		{"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 7", 7},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			r, dir := launch(t, "sh", "-c", c.script)
			r.must(t, c.code)
			readProfile(t, filepath.Join(dir, "r.pb.gz"))
		})
	}
}

func TestCommandThatCannotBeStarted(t *testing.T) {
	file := filepath.Join(scratch(t, nil), "plain")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := launch(t, file)
	r.must(t, 126).oneLine(t, file)
	r, _ = launch(t, "/no/such/command")
	r.must(t, 127).oneLine(t, "/no/such/command")
	r, _ = launch(t, "no-such-command-anywhere")
	r.must(t, 127).oneLine(t, "no-such-command-anywhere")
}

func TestCommandsOutputPassesThrough(t *testing.T) {
	t.Parallel()
	r, _ := launch(t, "sh", "-c", "printf 'out\\n\\001'; echo err >&2; sleep 0.3")
	r.must(t, 0)
	if r.stdout != "out\n\x01" {
		t.Errorf("stdout %q", r.stdout)
	}
	if !strings.HasPrefix(r.stderr, "err\n") && !strings.Contains(r.stderr, "\nerr\n") {
		t.Errorf("stderr %q", r.stderr)
	}
}

func TestLaunchedCommandIsSampledFromItsStart(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	recordLongEnough(t, func(seconds string) *profile.Profile {
		r, dir := launch(t, target.Exe, seconds)
		r.must(t, 128+14)
		return readProfile(t, filepath.Join(dir, "r.pb.gz"))
	}, target.Expect)
}

func TestChildrenOfALaunchedCommandAreSampled(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	recordLongEnough(t, func(seconds string) *profile.Profile {
		r, dir := launch(t, "sh", "-c", `"$0" "$1"; true`, target.Exe, seconds)
		r.must(t, 0)
		return readProfile(t, filepath.Join(dir, "r.pb.gz"))
	}, testtargets.Expect{Hot: []string{"burn_60"}})
}
