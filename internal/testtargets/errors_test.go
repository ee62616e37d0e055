// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os/exec"
	"strings"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

func TestErrorsOfAProgramAreKept(t *testing.T) {
	for script, want := range map[string]string{
		"echo why >&2; exit 3": "why",
		"exit 3":               "",
		"i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo early >&2; done; echo last >&2": "last",
	} {
		cmd := exec.Command("sh", "-c", script)
		said, err := KeepErrors(cmd)
		if err != nil {
			t.Fatal(err)
		}
		_ = bounded.Run(cmd)
		got := said.String()
		said.Close()
		if want == "" && got != "" || !strings.HasSuffix(got, want) || len(got) > mostErrors {
			t.Errorf("%s: %d bytes of errors, ending with %q", script, len(got), got[max(0, len(got)-20):])
		}
	}
}
