package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// recorder is a prywalk record without an end of its own. Its checkpoints tell how far it has come, so that
// a test waits for what a recording must hold and not for some time: a busy machine gives a target, or
// prywalk, a processor when it pleases.
type recorder struct {
	*running
	file, stats string
}

// startRecording starts record as a user, on some processes.
func startRecording(t *testing.T, u *testtargets.User, args ...string) *recorder {
	t.Helper()
	dir := scratch(t, u)
	r := &recorder{file: filepath.Join(dir, "r.pb.gz"), stats: filepath.Join(dir, "stats.json")}
	args = append([]string{"record", "-o", r.file, "--stats", r.stats}, args...)
	r.running = command{args: args, user: u, dir: dir}.start(t)
	return r
}

// until waits for a checkpoint that holds what is wanted.
func (r *recorder) until(what string, holds func(*profile.Profile) bool) {
	r.t.Helper()
	var last os.FileInfo
	ask := time.Now()
	eventually(r.t, what, func() bool {
		if info, err := os.Stat(r.file); err == nil && (last == nil || !os.SameFile(last, info)) {
			last, ask = info, time.Now().Add(200*time.Millisecond)
			if holds(readProfile(r.t, r.file)) {
				return true
			}
		}
		if stateOf(r.cmd.Process.Pid) == "Z" {
			r.t.Fatalf("prywalk ended before %s: %s", what, r.wait().stderr)
		}
		// One that is not listening yet drops the request.
		if time.Now().After(ask) && catches(r.cmd.Process.Pid, syscall.SIGUSR1) {
			r.signal(syscall.SIGUSR1)
			ask = time.Now().Add(2 * time.Second)
		}
		return false
	})
}

// catches reports whether a process has a handler for a signal (proc(5), SigCgt): before its runtime has
// installed one, this signal would end it.
func catches(pid int, s syscall.Signal) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "SigCgt:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, _ := strconv.ParseUint(mask, 16, 64)
	return bits&(1<<(s-1)) != 0
}

// finish ends the recording as Ctrl-C does and reads it.
func (r *recorder) finish() *recording {
	r.t.Helper()
	r.signal(syscall.SIGINT)
	return r.result()
}

// result waits for the end of the recording, which must be a success, and reads it.
func (r *recorder) result() *recording {
	r.t.Helper()
	rec := &recording{file: r.file, result: r.wait().must(r.t, 0)}
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

// recordUntil records until a checkpoint holds what is wanted, but not for less than three seconds.
func recordUntil(t *testing.T, what string, holds func(*profile.Profile) bool, args ...string) *recording {
	t.Helper()
	return recordUntilAs(t, nil, what, holds, args...)
}

func recordUntilAs(t *testing.T, u *testtargets.User, what string, holds func(*profile.Profile) bool, args ...string) *recording {
	t.Helper()
	r := startRecording(t, u, args...)
	r.until(what, func(p *profile.Profile) bool { return p.DurationNanos > 3e9 && holds(p) })
	return r.finish()
}

// fewLooks is how many looks at threads on a processor are not enough to judge by.
const fewLooks = 150

// computing counts the looks that found a thread on a processor.
func computing(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		if label(s, "state") == "running" && onCPU(s) {
			n += s.Value[samplesColumn]
		}
	}
	return n
}

// shows waits for what must be seen of a program, and for enough looks to judge its shares by.
func shows(e testtargets.Expect) func(*profile.Profile) bool {
	return func(p *profile.Profile) bool { return computing(p) >= fewLooks && len(lacking(p, e)) == 0 }
}

// hot waits for functions.
func hot(functions ...string) func(*profile.Profile) bool {
	return func(p *profile.Profile) bool { return len(lacking(p, testtargets.Expect{Hot: functions})) == 0 }
}
