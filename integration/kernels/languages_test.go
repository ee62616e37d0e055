// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"prywalk/integration/machine"
	"prywalk/internal/testtargets/bounded"
)

// languages puts those of this machine's Python, Node and Java that are installed, each with a program whose functions
// are known, and the file that has each one's command.
func languages(b *machine.Builder) {
	b.T.Helper()
	f := files{Builder: b, has: map[string]bool{}}
	var list strings.Builder
	add := func(words ...string) { list.WriteString(strings.Join(words, " ") + "\n") }
	if python := resolved("/usr/bin/python3"); python != "" {
		f.program(python)
		library := filepath.Join("/usr/lib", filepath.Base(python))
		f.tree(library, library)
		b.Put("programs/load.py", "testdata/load.py")
		add("python", python, "/programs/load.py")
	}
	if node := resolved("node"); node != "" {
		f.program(node)
		b.Put("programs/load.js", "testdata/load.js")
		add("node", node, "/programs/load.js")
	}
	if java := f.java(); java != "" {
		add("java", java, "-Xshare:off", "-XX:+UseSerialGC", "-cp", "/programs", "Load")
	}
	b.Img.File("programs/languages", []byte(list.String()))
}

// resolved is the file of a program without symbolic links, or "".
func resolved(program string) string {
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return ""
	}
	return path
}

// java puts a JVM with the base module alone, and the compiled program. It is "" without a JDK.
func (f *files) java() string {
	javac := resolved("javac")
	jlink := filepath.Join(filepath.Dir(javac), "jlink")
	if _, err := os.Stat(jlink); javac == "" || err != nil {
		return ""
	}
	f.Run("", nil, javac, "-d", f.Dir, "testdata/Load.java")
	f.Put("programs/Load.class", filepath.Join(f.Dir, "Load.class"))
	home := filepath.Join(f.Dir, "jvm")
	f.Run("", nil, jlink, "--add-modules", "java.base", "--output", home)
	f.tree("/opt/jvm", home)
	f.libraries(filepath.Join(home, "bin/java"))
	f.libraries(filepath.Join(home, "lib/server/libjvm.so"))
	return "/opt/jvm/bin/java"
}

// files are of this machine.
type files struct {
	*machine.Builder
	has map[string]bool
}

func (f *files) directory(dir string) {
	if dir == "/" || f.has[dir] {
		return
	}
	f.has[dir] = true
	f.directory(filepath.Dir(dir))
	f.Img.Directory(strings.TrimPrefix(dir, "/"))
}

// put copies a file to a path.
func (f *files) put(path, file string) {
	if f.has[path] {
		return
	}
	f.has[path] = true
	f.directory(filepath.Dir(path))
	f.Put(strings.TrimPrefix(path, "/"), file)
}

// program puts a program and its libraries at the paths that they have here.
func (f *files) program(file string) {
	f.put(file, file)
	f.libraries(file)
}

var libraryPath = regexp.MustCompile(`/\S*\.so\S*`)

// libraries puts what the dynamic linker loads with a file.
func (f *files) libraries(file string) {
	f.T.Helper()
	out, err := bounded.Output(exec.Command("ldd", file))
	if err != nil {
		f.T.Fatalf("ldd %s: %v", file, err)
	}
	for _, library := range libraryPath.FindAllString(string(out), -1) {
		f.put(library, library)
	}
}

// tree puts the regular files below a directory at a path, without what is compiled from others.
func (f *files) tree(path, dir string) {
	f.T.Helper()
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "__pycache__" || e.Name() == "test"):
			return filepath.SkipDir
		case e.Type().IsRegular():
			f.put(path+strings.TrimPrefix(file, dir), file)
		}
		return nil
	})
	if err != nil {
		f.T.Fatal(err)
	}
}
