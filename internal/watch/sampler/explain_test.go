// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/report"
)

// mutexWaits counts waits for a mutex of glibc by what they say of its owner: as copied while the waiter slept, and as
// recorded.
type mutexWaits struct {
	copied, recorded [ownerKinds]int64
	samples          atomic.Int64
}

// What a copy has of the owner. A thread that has the lock writes its ID a little later.
const (
	named = iota
	free
	notWritten
	ownerKinds
)

func (m *mutexWaits) watch(_ *target.Process, s *observe.RawSample, _ sample.StackID, _ *frames.Walker) {
	if s.State == sample.Running || s.WaitReason() != "futex" {
		return
	}
	m.copied[copiedOwner(s)]++
}

func copiedOwner(s *observe.RawSample) int {
	const ownerAt = 8 // of pthread_mutex_t, behind the futex word
	c := s.FutexCopy()
	at := s.Call.Args[0] - c.Addr
	switch {
	case at+ownerAt+4 > uint64(len(c.Bytes)):
		return notWritten
	case binary.NativeEndian.Uint32(c.Bytes[at:]) == 0:
		return free
	case binary.NativeEndian.Uint32(c.Bytes[at+ownerAt:]) == 0:
		return notWritten
	}
	return named
}

func (m *mutexWaits) Add(i profile.Interval) {
	if !strings.HasPrefix(i.WaitsFor, string(waits.Mutex)) || i.Samples == 0 {
		return
	}
	m.samples.Add(i.Samples)
	switch {
	case i.Owner > 0:
		m.recorded[named]++
	case i.Owner == profile.NoOwner:
		m.recorded[free]++
	default:
		m.recorded[notWritten]++
	}
}

func TestWaitsOfALockThatIsPassedOnTellWhoHadIt(t *testing.T) {
	p := testtargets.StartPassing(t, t.TempDir(), 8, 1000)
	var m mutexWaits
	enough := func(*Sampler) bool { return m.samples.Load() >= 3000 }
	r := run(t, target.SamplingOptions{Freq: 99, Sinks: []profile.Sink{&m}, Walked: m.watch}, enough, nil, p.PID)
	t.Logf("owners named, lock free, owner not written: %v copied, %v recorded", m.copied, m.recorded)
	for kind := range ownerKinds {
		if m.recorded[kind] > m.copied[kind] {
			t.Errorf("more waits recorded than copied of kind %d: %v, %v", kind, m.recorded, m.copied)
		}
	}
	if m.recorded[named] == 0 {
		t.Error("no wait names the lock's owner")
	}
	for _, s := range r.Sample {
		if word := label(s, profile.LabelOwner); word != "" && (word != profile.OwnerNoneText ||
			len(s.NumLabel[profile.LabelOwner]) > 0) {
			t.Errorf("owner %q, %v", word, s.NumLabel)
		}
	}
}

func TestTheOpenOfANamedPipeNamesIt(t *testing.T) {
	fifo := testtargets.Fifo(t)
	cmd := exec.Command("sh", "-c", `echo ready; read line < "$0"`, fifo)
	testtargets.Ready(t, cmd)
	testtargets.Asleep(t, cmd.Process.Pid)
	r := run(t, target.SamplingOptions{}, func(s *Sampler) bool { return s.Progress().Tracer.Ticks >= 5 }, nil,
		cmd.Process.Pid)
	if len(r.Sample) == 0 {
		t.Error("no sample")
	}
	for _, s := range r.Sample {
		if label(s, "wait") != "openat" || label(s, "waits_for") != fifo {
			t.Errorf("%v, want openat of %s", s.Label, fifo)
		}
	}
}

func TestWaitsForALockNameItAndItsOwner(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "locked")
	if out, err := bounded.AllOutput(exec.Command("cc", "-g", "-O1", "-pthread", "-o", exe,
		"testdata/locked.c")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	r := record(t, target.SamplingOptions{}, 3*time.Second, nil, cmd.Process.Pid)
	holder := int64(0)
	for _, s := range r.Sample {
		if label(s, "thread") == "holder" {
			holder = s.NumLabel["tid"][0]
		}
	}
	var blocked, named, owned time.Duration // ns
	for _, s := range r.Sample {
		if label(s, "wait") != "futex" {
			continue
		}
		ns := time.Duration(s.Value[1] - s.Value[2] - s.Value[3])
		blocked += ns
		if label(s, "waits_for") == "mutex cache_mu" {
			named += ns
		}
		if owner := s.NumLabel["owner"]; len(owner) == 1 && owner[0] == holder {
			owned += ns
		}
	}
	if blocked == 0 || named != blocked || owned != blocked {
		t.Errorf("of %v blocked, %v name the lock, and %v its holder", blocked, named,
			owned)
	}
	blame, err := report.Blame(r.Profile, &report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all, flush time.Duration
	for _, s := range blame.Sample {
		all += time.Duration(s.Value[0])
		if in("flush_here")(s) {
			flush += time.Duration(s.Value[0])
		}
	}
	if all != blocked || flush != all {
		t.Errorf("%v is blamed, %v of it on flush_here; %v were blocked", all, flush,
			blocked)
	}
}
