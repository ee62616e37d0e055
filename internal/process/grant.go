// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// Capability is a capability that prywalk uses (capabilities(7)).
type Capability struct {
	Bit  int
	Name string // without cap_, as for setcap and container engines
}

// Capabilities are in the order of a remedy.
var Capabilities = []Capability{
	{unix.CAP_SYS_PTRACE, "sys_ptrace"},
	{unix.CAP_DAC_READ_SEARCH, "dac_read_search"},
	{unix.CAP_PERFMON, "perfmon"},
	{unix.CAP_SYS_NICE, "sys_nice"},
	{unix.CAP_CHECKPOINT_RESTORE, "checkpoint_restore"},
	{unix.CAP_SYS_ADMIN, "sys_admin"},
	{unix.CAP_BPF, "bpf"},
}

// OtherUsers are the capabilities for other users' processes: one overrides the ptrace access check, the other the mode
// of /proc files (/proc/PID/syscall, /proc/PID/mem).
const OtherUsers = uint64(1<<unix.CAP_SYS_PTRACE | 1<<unix.CAP_DAC_READ_SEARCH)

// Grant returns the command that adds capabilities to prywalk's file, with the present ones, which setcap replaces.
func (s *Status) Grant(bits uint64) string {
	var names []string
	for _, c := range Capabilities {
		if (bits|s.CapPrm)>>c.Bit&1 != 0 {
			names = append(names, "cap_"+c.Name)
		}
	}
	self, err := os.Executable()
	if err != nil {
		self = "prywalk"
	}
	return "sudo setcap " + strings.Join(names, ",") + "+ep " + quoted(self)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.+:@/-]+$`)

func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
