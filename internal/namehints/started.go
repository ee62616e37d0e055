package namehints

import "regexp"

// firstWord matches what two names of one program have in common.
var firstWord = regexp.MustCompile(`^[a-zA-Z]{3,}`)

// commSize is the length from which on the kernel cuts a process's name (TASK_COMM_LEN in linux/sched.h, less one).
const commSize = 15

// StartedAs reports whether a process's name is that by which people know the program in a file, as redis-server is
// a link to redis-check-rdb on Debian. It is believed if both begin with the same word, or if the process is known to
// have been started through a link.
func StartedAs(file, comm string, link bool) bool {
	if comm == "" || comm == file || len(comm) >= commSize {
		return false
	}
	word := firstWord.FindString(file)
	return link || word != "" && word == firstWord.FindString(comm)
}

// LinkRemark says in a recording's comments that a process was started through a link to the file at a path.
func LinkRemark(comm, path string) string { return comm + " was started through a link to " + path }
