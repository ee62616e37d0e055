// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"path"
	"strconv"

	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/safeopen"

	"golang.org/x/sys/unix"
)

// TrustedFiles opens debug files and perf maps of trusted owners: root, prywalk's user, the process's user, its
// program's owner.
type TrustedFiles struct {
	PID    int
	tid    int // a live thread's; 0: PID
	opener safeopen.Opener
	trust  *safeopen.Trust
	since  int64 // the process's start, CLOCK_REALTIME ns; 0: unknown
}

func (f *TrustedFiles) requestInRoot(name string) safeopen.Request {
	tid := f.tid
	if tid == 0 {
		tid = f.PID
	}
	return safeopen.Request{Root: process.Path(tid, "root"), Path: name}
}

func (f *TrustedFiles) trusted() *safeopen.Trust {
	if f.trust == nil {
		f.renewTrust()
	}
	return f.trust
}

// renewTrust keeps what is known of a process that has ended.
func (f *TrustedFiles) renewTrust() {
	trust := &safeopen.Trust{}
	st, err := process.ReadStatus("/proc", f.PID)
	if err == nil {
		trust.UIDs = append(trust.UIDs, st.UID[:2]...)
		trust.GIDs = append(trust.GIDs, st.GID[:2]...)
	}
	exe, exeErr := f.opener.Open(safeopen.Request{Path: process.Path(f.PID, "exe"), Kernel: true})
	if exeErr == nil {
		trust.UIDs = append(trust.UIDs, exe.UID())
		_ = exe.Close()
	}
	if f.trust == nil || err == nil && exeErr == nil { // a zombie has no program
		f.trust = trust
	}
}

// Debug opens a debug file below the process's root, else below prywalk's. The caller compares build id or checksum.
func (f *TrustedFiles) Debug(name string) (*safeopen.File, error) {
	r := f.requestInRoot(name)
	r.Trust = f.trusted()
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, safeopen.ErrStuck) {
		return g, err
	}
	return f.opener.Open(safeopen.Request{Path: name, Trust: r.Trust})
}

// PerfMap opens /tmp/perf-PID.map below the process's root (PID in its pid namespace), else below prywalk's. It refuses
// a link, and a file older than the process.
func (f *TrustedFiles) PerfMap() (*safeopen.File, error) {
	f.renewTrust() // the process may have another user or program by now
	inside := f.PID
	if st, err := process.ReadStatus("/proc", f.PID); err == nil {
		if st.NSpidN > 0 {
			inside = st.NSpid[st.NSpidN-1]
		}
		f.since = startedAt(st.Start)
	}
	r := f.requestInRoot(perfMapName(inside))
	r.Trust, r.NoLink, r.Since = f.trusted(), true, f.since
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, safeopen.ErrStuck) || errors.Is(err, safeopen.ErrNotTrusted) ||
		errors.Is(err, safeopen.ErrOutdated) {
		return g, err
	}
	r.Root, r.Path = "", perfMapName(f.PID)
	return f.opener.Open(r)
}

// startedAt converts clock ticks since boot to CLOCK_REALTIME ns, less one second of tolerance; 0: unknown.
func startedAt(ticks uint64) int64 {
	var boot, now unix.Timespec
	if ticks == 0 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
		unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return 0
	}
	return now.Nano() - boot.Nano() + int64(ticks)*procmem.ClockTick - 1e9
}

func perfMapName(pid int) string { return path.Join("/tmp", "perf-"+strconv.Itoa(pid)+".map") }
