// SPDX-License-Identifier: Apache-2.0

// Command syscalls generates the tables of system call names from the constants of golang.org/x/sys/unix ("go generate").
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var constant = regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s*=\s*(\d+)$`)

func main() {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		log.Fatalf("finding golang.org/x/sys: %v", err)
	}
	unix := filepath.Join(strings.TrimSpace(string(dir)), "unix")
	write(filepath.Join(unix, "zsysnum_linux_amd64.go"), "syscalls_x86.txt")
	write(filepath.Join(unix, "zsysnum_linux_arm64.go"), "syscalls_aarch64.txt")
}

// write writes a line for each number: the number and the name.
func write(from, to string) {
	src, err := os.ReadFile(from)
	if err != nil {
		log.Fatal(err)
	}
	names := map[int]string{}
	for _, m := range constant.FindAllSubmatch(src, -1) {
		nr, err := strconv.Atoi(string(m[2]))
		if err != nil {
			log.Fatal(err)
		}
		names[nr] = strings.ToLower(string(m[1]))
	}
	var table strings.Builder
	for _, nr := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&table, "%d %s\n", nr, names[nr])
	}
	if err := os.WriteFile(to, []byte(table.String()), 0o644); err != nil {
		log.Fatal(err)
	}
}
