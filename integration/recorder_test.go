// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/integration/checkpoint"
	"prywalk/internal/testtargets"
)

type recorder struct {
	*running
	file, stats string
}

func startRecording(t *testing.T, u *testtargets.User, args ...string) *recorder {
	t.Helper()
	dir := scratch(t, u)
	r := &recorder{file: filepath.Join(dir, "r.pb.gz"), stats: filepath.Join(dir, "stats.json")}
	// With the default limits, what is sampled would depend on the host's load. Later flags replace these.
	noLimits := []string{"--max-pause", "off", "--max-overhead", "off"}
	args = slices.Concat([]string{"record", "-o", r.file, "--stats", r.stats}, noLimits, args)
	r.running = command{args: args, user: u, dir: dir}.start(t)
	return r
}

func (r *recorder) until(what string, holds func(*profile.Profile) bool) {
	r.t.Helper()
	r.untilFile(what, func() bool { return holds(readProfile(r.t, r.file)) })
}

// untilFile is for a test that reads the file by itself.
func (r *recorder) untilFile(what string, holds func() bool) {
	r.t.Helper()
	follower := checkpoint.Follow(r.cmd.Process, r.file)
	eventually(r.t, what, func() bool {
		if follower.New() && holds() {
			return true
		}
		if stateOf(r.cmd.Process.Pid) == "Z" {
			r.t.Fatalf("prywalk ended before %s: %s", what, r.wait().stderr)
		}
		return false
	})
}

func (r *recorder) finish() *recording {
	r.t.Helper()
	r.signal(syscall.SIGINT)
	return r.result()
}

func (r *recorder) result() *recording {
	r.t.Helper()
	return r.read(r.wait())
}

func (r *recorder) read(res result) *recording {
	r.t.Helper()
	rec := &recording{file: r.file, result: res.must(r.t, 0)}
	rec.Profile = readProfile(r.t, r.file)
	text, err := os.ReadFile(r.stats)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rec.stats); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return rec
}

const shortest = time.Second

func recordUntil(t *testing.T, what string, holds func(*profile.Profile) bool, args ...string) *recording {
	t.Helper()
	return recordUntilAs(t, nil, what, holds, args...)
}

func recordUntilAs(t *testing.T, u *testtargets.User, what string, holds func(*profile.Profile) bool,
	args ...string) *recording {
	t.Helper()
	r := startRecording(t, u, args...)
	r.until(what, func(p *profile.Profile) bool { return p.DurationNanos > int64(shortest) && holds(p) })
	return r.finish()
}

var fewSamples = testtargets.Times[int64](50, 150)

func computing(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		if label(s, "state") == "running" && onCPU(s) {
			n += s.Value[samplesColumn]
		}
	}
	return n
}

func hasExpected(e testtargets.Expect) func(*profile.Profile) bool {
	return func(p *profile.Profile) bool {
		return computing(p) >= fewSamples && len(missingChains(p, e)) == 0
	}
}

func hasFunctions(functions ...string) func(*profile.Profile) bool {
	return func(p *profile.Profile) bool { return len(missingChains(p, testtargets.Expect{Hot: functions})) == 0 }
}
