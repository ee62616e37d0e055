// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"prywalk/internal/testtargets"
)

func TestNodesRulesRemainBesideLLVM(t *testing.T) {
	node := testtargets.NeedProgram(t, "node")
	libs, _ := filepath.Glob("/usr/lib/*/libLLVM*.so*")
	testtargets.Need(t, len(libs) > 0, "the library of LLVM", testtargets.SetUp)
	c := exec.Command(node, "-e", `console.log("ready"); setInterval(() => {}, 1e6)`)
	c.Env = append(os.Environ(), "LD_PRELOAD="+libs[0])
	testtargets.Ready(t, c)
	p := open(t, c.Process.Pid)
	generated := 0
	for _, m := range p.Space().Modules() {
		if !m.Generated {
			continue
		}
		generated++
		var got []string
		for _, s := range m.Sources {
			got = append(got, reflect.TypeOf(s).String())
		}
		if want := []string{"v8.jitRules", "*heuristics.Source"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%#x: sources %v, want %v", m.Start, got, want)
		}
	}
	if generated == 0 {
		t.Error("Node has no generated code")
	}
}
