// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
)

// Status holds fields of /proc/PID/status (proc_pid_status(5)), and some of stat.
type Status struct {
	procmem.Status // its KernelThread is of stat, too
	Name           string
	Groups         []int  // supplementary
	Unreachable    uint64 // capabilities beyond the bounding set, which neither setcap nor sudo gives
	Start          uint64 // of the process or thread, clock ticks after boot
}

// Has reports whether capability c is effective.
func (s *Status) Has(c int) bool { return s.CapEff>>c&1 != 0 }

// MayGet reports whether a file's capabilities could give the capabilities bits: in most containers not
// (capabilities(7), "Capability bounding set"). A set of all capabilities that the kernel has bounds nothing.
func (s *Status) MayGet(bits uint64) bool {
	bounds := ^s.Unreachable
	whole := bounds&(bounds+1) == 0 && bounds>>unix.CAP_BLOCK_SUSPEND&1 != 0 // in each kernel since Linux 3.5
	return whole || s.Unreachable&bits == 0
}

// InGroup is as kernel/groups.c, in_group_p.
func (s *Status) InGroup(gid int) bool { return int(s.GID[3]) == gid || slices.Contains(s.Groups, gid) }

type procRoot string

const defaultProc procRoot = "/proc"

// Path returns a path below /proc/PID.
func Path(pid int, name string) string { return defaultProc.path(pid, name) }

func (p procRoot) path(pid int, name string) string {
	return filepath.Join(string(p), strconv.Itoa(pid), name)
}

// ReadStatus reads the state of a process or thread. root is proc's mount point. The error is an [*Error] of
// [errs.Exited] if there is none or /proc shows none (mount option hidepid=2), of [errs.Denied] if its files may
// not be read.
func ReadStatus(root string, pid int) (*Status, error) {
	return procRoot(root).status(pid)
}

// ReadSelf reads prywalk's own state.
func ReadSelf(root string) (*Status, error) {
	text, err := os.ReadFile(filepath.Join(root, "self/status"))
	if err != nil {
		return nil, fmt.Errorf("reading prywalk's own status: %w; is /proc mounted?", err)
	}
	return parseStatus(text), nil
}

// CheckProc returns an error if /proc is another pid namespace's.
func CheckProc() error {
	to, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("reading /proc/self: %w; mount /proc: mount -t proc proc /proc", err)
	}
	if to != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc is that of another pid namespace (prywalk is process %d here, and %s there); "+
			"mount this namespace's: mount -t proc proc /proc", os.Getpid(), to)
	}
	return nil
}

func (p procRoot) status(pid int) (*Status, error) {
	text, err := os.ReadFile(p.path(pid, "status"))
	if err != nil {
		return nil, gone(pid, err)
	}
	s := parseStatus(text)
	st := ReadStat(string(p), pid)
	s.KernelThread = s.KernelThread || st.KernelThread()
	s.Start = st.StartTime
	if s.Tgid == 0 {
		return nil, &Error{PID: pid, Kind: errs.Exited, Cause: "its status cannot be read",
			Next: "check that /proc is mounted", Err: fmt.Errorf("malformed %s", p.path(pid, "status"))}
	}
	return s, nil
}

// ReadStat reads stat of a process or thread, zero on error. root is proc's mount point.
func ReadStat(root string, pid int) (st procmem.Stat) {
	if text, err := os.ReadFile(procRoot(root).path(pid, "stat")); err == nil {
		_ = procmem.ParseStat(text, &st)
	}
	return st
}

func gone(pid int, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH), errors.Is(err, errs.Exited):
		return &Error{PID: pid, Kind: errs.Exited, Cause: "no such process",
			Next: "check the number with ps or pgrep", Err: err}
	case errors.Is(err, os.ErrPermission):
		return &Error{PID: pid, Kind: errs.Denied, Cause: "the kernel does not let this user read it",
			Next: "run prywalk doctor -p " + strconv.Itoa(pid), Err: err}
	case errs.Of(err) == errs.NoFiles:
		return noFiles(pid, err)
	}
	return fmt.Errorf("reading /proc of process %d: %w", pid, err)
}

// parseStatus leaves missing keys zero (older kernels).
func parseStatus(text []byte) *Status {
	s := &Status{Name: unescape(field(text, "Name"))}
	_ = procmem.ParseStatus(text, &s.Status)
	if bounds, err := strconv.ParseUint(field(text, "CapBnd"), 16, 64); err == nil {
		s.Unreachable = ^bounds
	}
	for group := range strings.FieldsSeq(field(text, "Groups")) {
		n, _ := strconv.Atoi(group)
		s.Groups = append(s.Groups, n)
	}
	return s
}

func field(text []byte, key string) string {
	_, value, _ := strings.Cut("\n"+string(text), "\n"+key+":\t")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// unescape reverts the kernel's escapes in names (fs/proc/array.c, proc_task_name).
var unescape = strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace

// Capabilities are those that prywalk uses (capabilities(7)), in the order of a remedy.
var Capabilities = []int{
	unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH, unix.CAP_PERFMON, unix.CAP_SYS_NICE, unix.CAP_CHECKPOINT_RESTORE,
	unix.CAP_SYS_ADMIN, unix.CAP_BPF,
}

// CapabilityName returns the name of one of [Capabilities], without cap_.
func CapabilityName(bit int) string { return capabilityNames[bit] }

// capabilityNames are in the kernel's order (uapi/linux/capability.h).
var capabilityNames = strings.Fields("chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap " +
	"linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio " +
	"sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease " +
	"audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf " +
	"checkpoint_restore")

const maxListedCapabilities = 4

func capabilityList(bits uint64) string {
	var names []string
	for bit := range 64 {
		switch {
		case bits>>bit&1 == 0:
		case bit < len(capabilityNames):
			names = append(names, "cap_"+capabilityNames[bit])
		default:
			names = append(names, strconv.Itoa(bit))
		}
	}
	if n := len(names) - maxListedCapabilities; n > 0 {
		names = append(names[:maxListedCapabilities], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// OtherUsers override the ptrace access check, and the mode of /proc files.
const OtherUsers = uint64(1<<unix.CAP_SYS_PTRACE | 1<<unix.CAP_DAC_READ_SEARCH)

// Grant returns the command that adds capabilities to prywalk's file; setcap replaces the present ones.
func (s *Status) Grant(bits uint64) string {
	self, err := os.Executable()
	if err != nil {
		self = "prywalk"
	}
	return "sudo setcap " + strings.Join(grantedNames(bits|s.CapPrm), ",") + "+ep " + quoted(self)
}

func grantedNames(bits uint64) (names []string) {
	for _, c := range Capabilities {
		if bits>>c&1 != 0 {
			names = append(names, "cap_"+CapabilityName(c))
		}
	}
	return names
}

// SeccompRemedy is the next step if a seccomp filter on prywalk denies its system calls.
func (s *Status) SeccompRemedy() string {
	if s.Has(unix.CAP_SYS_PTRACE) {
		return "allow ptrace and process_vm_readv in its profile, or run prywalk outside of the sandbox"
	}
	return "in a container --cap-add=SYS_PTRACE, with which Docker's profile allows ptrace and process_vm_readv; " +
		"else run prywalk outside of the sandbox"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.+:@/-]+$`)

func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
