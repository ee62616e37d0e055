// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/testtargets"
)

// The program of that name in the path is a script.
const browser = "/usr/lib/chromium/chromium"

func recordedChromium(b *testing.B) *recording {
	b.Helper()
	if _, err := os.Stat(browser); err != nil {
		testtargets.Need(b, false, "chromium", "sudo apt-get install chromium")
	}
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-proxy-server",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+b.TempDir(), "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	pid := cmd.Process.Pid
	end := func() {
		for _, p := range family(pid) {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
		_ = cmd.Wait()
	}
	for limit := time.Now().Add(patience); len(family(pid)) < 4; time.Sleep(50 * time.Millisecond) { // between two queries
		if time.Now().After(limit) {
			end()
			b.Fatalf("chromium started no helpers within %v", patience)
		}
	}
	r, stop, err := recordProcess("chromium", 5, pid, func() []int { return family(pid) }, end)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
	return r
}

func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		files, _ := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children")
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for word := range strings.FieldsSeq(string(text)) {
				if n, err := strconv.Atoi(word); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

func entries(p *loadedcode.Process) (n int) {
	seen := map[*loadedcode.Image]bool{}
	for _, m := range p.Space().Modules() {
		at := loadedcode.MappingOf(m)
		if at == nil || at.Image == nil || seen[at.Image] {
			continue
		}
		seen[at.Image] = true
		hdr, _ := at.Image.ELF.EhFrame()
		if hdr == nil {
			continue
		}
		// Version, three encodings, the address of .eh_frame, the number of entries (LSB 5.0 §10.7).
		if b, err := hdr.View(0, 12); err == nil && b[2] == 3 {
			n += int(binary.LittleEndian.Uint32(b[8:]))
		}
	}
	return n
}
