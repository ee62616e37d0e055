// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

const rewriter = `
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\x48\x83\xc4\x18\xc3", 5); /* add rsp,24; ret */
	printf("%p\n", (void *)code), fflush(stdout);
	getchar();
	code[3] = 0x28;
	puts("done"), fflush(stdout);
	getchar();
}`

func TestRewrittenCodeIsReadAgain(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "rewriter")
	if err := os.WriteFile(exe+".c", []byte(rewriter), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "gcc", "-o", exe, exe+".c")
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(pipe)
	c := testtargets.Child(t, cmd)
	out.Scan()
	at, err := strconv.ParseUint(strings.TrimPrefix(out.Text(), "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, c.Process.Pid)
	cfa := func() int32 {
		t.Helper()
		m := p.Space().ModuleAt(at)
		if m == nil || !m.Generated {
			t.Fatalf("%#x is in module %+v, want a generated one", at, m)
		}
		for _, s := range m.Sources {
			if r, _, ok := s.Rule(frames.Query{PC: at - m.Bias}); ok {
				return r.CFAOff
			}
		}
		t.Fatal("no rule")
		return 0
	}
	if got := cfa(); got != 32 {
		t.Errorf("CFA = rsp+%d, want 32", got)
	}
	refreshed(t, p, false)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	out.Scan()
	refreshed(t, p, true)
	if got := cfa(); got != 48 {
		t.Errorf("rewritten code: CFA = rsp+%d, want 48", got)
	}
	refreshed(t, p, false)
}
