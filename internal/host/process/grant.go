// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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
