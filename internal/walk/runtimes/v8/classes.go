// SPDX-License-Identifier: Apache-2.0

package v8

// # Classes
//
// SharedFunctionInfo has a method's name and bounds, but no class. That comes from the source, if bounds and name
// agree and the source is understood to its end.

type member struct {
	class string
	name  string // "": computed or a literal
	key   string // Symbol.key in brackets, or ""
	end   int
}

const memberSize = 128 // bytes in a map, without strings

type units interface{ byte | uint16 }

const (
	maxClassSource = 16 << 20 // characters
	maxNesting     = 1 << 12
	maxMembers     = 1 << 16
)

const (
	tokenNone uint8 = iota
	tokenName
	tokenOperator // a keyword that an expression follows
	tokenValue
	tokenPunct
)

type token struct {
	kind       uint8
	punct      byte
	start, end int
}

const (
	roleOther uint8 = iota
	roleValue       // object literal or subscript: a value
	roleHead        // after if, for, while, with: a statement follows
	roleClass
	roleTemplate
	roleParams // parameters of a possible method
	roleMethod
)

type bracket struct {
	role  uint8
	close byte
	class string
	begin int
	name  token
	key   [2]int // bounds of the last [ ] in a class body
}

type classHead struct {
	name  string
	depth int
}

// classScanner follows brackets and class bodies in one pass, without a grammar: the tokens before a bracket give its
// role.
//
//	class A extends B {            { after a class head: roleClass
//	  f(x) { return [1] }          ( after a name in a class body: roleParams; { after these: roleMethod
//	  [Symbol.iterator]() { }      the text of [ ] in a class body is the next method's key
//	  x = { g() { } }              { after an operator: roleValue, no class: g is not A's
//	}
type classScanner[T units] struct {
	src      []T
	at       int
	last     [4]token // last[0]: newest
	open     []bracket
	heads    []classHead // whose { is still to come
	params   bracket     // the last closed roleParams, which ends at paramsAt
	paramsAt int
	members  map[int]member
}

// classesOf returns the methods by the place of their "("; false: the source is not understood.
func classesOf[T units](src []T) (map[int]member, bool) {
	s := classScanner[T]{src: src, members: map[int]member{}}
	ok := s.run()
	return s.members, ok
}

func (s *classScanner[T]) peek(i int) T {
	if i < len(s.src) {
		return s.src[i]
	}
	return 0
}

func (s *classScanner[T]) push(t token) {
	s.last[3], s.last[2], s.last[1], s.last[0] = s.last[2], s.last[1], s.last[0], t
}

// nameBytes has the characters up to 255 that names can have.
var nameBytes = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' ||
			c >= 0x80 && c != 0xa0
	}
	return set
}()

func inName[T units](c T) bool {
	u := uint32(c)
	return u < 256 && nameBytes[u] || u >= 256 && u != 0x2028 && u != 0x2029 && u != 0xfeff
}

// run scans the whole source; false: it is not understood.
func (s *classScanner[T]) run() bool {
	if s.peek(0) == '#' && s.peek(1) == '!' {
		s.skipLine()
	}
	for s.at < len(s.src) {
		c := s.src[s.at]
		ok := true
		switch {
		case c >= '0' && c <= '9':
			s.number()
		case inName(c) || c == '#':
			s.word()
		case c <= ' ' || c >= 0x80:
			s.at++
		case c == '"' || c == '\'':
			ok = s.quoted(c)
		case c == '`':
			s.at++
			ok = s.template()
		case c == '/':
			ok = s.slash()
		case c == '(' || c == '[' || c == '{':
			ok = s.opening(byte(c))
		case c == ')' || c == ']' || c == '}':
			ok = s.closing(byte(c))
		case c == '\\':
			ok = false
		default:
			s.operator(byte(c))
		}
		if !ok {
			return false
		}
	}
	return len(s.open) == 0
}

func (s *classScanner[T]) skipLine() {
	for s.at < len(s.src) && s.src[s.at] != '\n' && s.src[s.at] != '\r' && uint32(s.src[s.at])&^1 != 0x2028 {
		s.at++
	}
}

func (s *classScanner[T]) number() {
	start := s.at
	for s.at < len(s.src) && (inName(s.src[s.at]) || s.src[s.at] == '.') {
		s.at++
	}
	s.push(token{kind: tokenValue, start: start, end: s.at})
}

func (s *classScanner[T]) text(start, end int) string {
	if end-start > maxName {
		return ""
	}
	wide := make([]rune, 0, end-start)
	for _, c := range s.src[start:end] {
		wide = append(wide, rune(c))
	}
	return string(wide)
}

func (s *classScanner[T]) is(t token, text string) bool {
	if t.kind != tokenName && t.kind != tokenOperator || t.end-t.start != len(text) {
		return false
	}
	for i := range len(text) {
		if s.src[t.start+i] != T(text[i]) {
			return false
		}
	}
	return true
}

// operators are keywords before an expression.
var operators = [...]string{"return", "typeof", "case", "do", "else", "in", "instanceof", "new", "void", "delete",
	"throw", "yield", "await", "of", "extends", "default"}

func (s *classScanner[T]) word() {
	start := s.at
	for s.at++; s.at < len(s.src) && inName(s.src[s.at]); s.at++ {
	}
	t := token{kind: tokenName, start: start, end: s.at}
	if s.last[0].punct == '.' {
		s.push(t)
		return
	}
	if n := s.at - start; n >= 2 && n <= 10 {
		for _, o := range operators {
			if len(o) == n && s.is(t, o) {
				t.kind = tokenOperator
				break
			}
		}
		switch {
		case n == 5 && s.is(t, "class"):
			s.classHead()
		case n == 8 && s.is(t, "function"):
			s.dropHeads(len(s.open))
		}
	}
	s.push(t)
}

// dropHeads drops heads that no class body has followed, at a depth of brackets or deeper.
func (s *classScanner[T]) dropHeads(depth int) {
	for len(s.heads) > 0 && s.heads[len(s.heads)-1].depth >= depth {
		s.heads = s.heads[:len(s.heads)-1]
	}
}

func (s *classScanner[T]) classHead() {
	i := s.at
	for i < len(s.src) && (s.src[i] == ' ' || s.src[i] >= '\t' && s.src[i] <= '\r') {
		i++
	}
	switch c := s.peek(i); {
	case c == '{':
		s.heads = append(s.heads, classHead{s.assigned(), len(s.open)})
		return
	case !inName(c) || c >= '0' && c <= '9' || i == s.at:
		return
	}
	end := i
	for end < len(s.src) && inName(s.src[end]) {
		end++
	}
	name := s.text(i, end)
	if name == "extends" {
		name = s.assigned()
	}
	s.heads = append(s.heads, classHead{name, len(s.open)})
}

// assigned is for "NAME = class" and "{ NAME: class" (ECMAScript, NamedEvaluation).
func (s *classScanner[T]) assigned() string {
	sign, name, before := s.last[0], s.last[1], s.last[2]
	switch {
	case name.kind != tokenName:
	case sign.punct == '=' && before.punct != '.', sign.punct == ':' && (before.punct == '{' || before.punct == ','):
		return s.text(name.start, name.end)
	}
	return ""
}

func (s *classScanner[T]) quoted(quote T) bool {
	start := s.at
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case quote:
			s.at++
			s.push(token{kind: tokenValue, start: start, end: s.at})
			return true
		case '\\':
			if s.at++; s.peek(s.at) == '\r' && s.peek(s.at+1) == '\n' {
				s.at++
			}
		case '\n', '\r':
			return false
		}
	}
	return false
}

func (s *classScanner[T]) template() bool {
	for ; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '`':
			s.at++
			s.push(token{kind: tokenValue, start: s.at - 1, end: s.at})
			return true
		case '\\':
			s.at++
		case '$':
			if s.peek(s.at+1) == '{' {
				s.at += 2
				s.push(token{kind: tokenPunct, punct: '{', start: s.at - 1, end: s.at})
				return s.enter(bracket{role: roleTemplate, close: '}'})
			}
		}
	}
	return false
}

func (s *classScanner[T]) slash() bool {
	switch s.peek(s.at + 1) {
	case '/':
		s.skipLine()
		return true
	case '*':
		for s.at += 2; s.at+1 < len(s.src); s.at++ {
			if s.src[s.at] == '*' && s.src[s.at+1] == '/' {
				s.at += 2
				return true
			}
		}
		return false
	}
	t := s.last[0]
	if t.kind == tokenName || t.kind == tokenValue {
		s.operator('/')
		return true
	}
	start := s.at
	for inClass := false; ; {
		s.at++
		switch c := s.peek(s.at); {
		case c == 0 || c == '\n' || c == '\r':
			return false
		case c == '\\':
			s.at++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '/' && !inClass:
			for s.at++; inName(s.peek(s.at)); s.at++ {
			}
			s.push(token{kind: tokenValue, start: start, end: s.at})
			return true
		}
	}
}

func (s *classScanner[T]) operator(c byte) {
	t := token{kind: tokenPunct, punct: c, start: s.at, end: s.at + 1}
	if (c == '+' || c == '-') && s.peek(s.at+1) == T(c) { // a value after a value; before one, no / follows
		t.kind, t.end = tokenValue, s.at+2
		t.punct = 0
	}
	if c == '>' && s.last[0].punct == '=' && s.last[0].end == s.at {
		s.dropHeads(len(s.open))
	}
	if c == '=' && s.last[0].end == s.at && s.last[0].kind == tokenPunct { // ==, +=, …
		t.punct = '!'
	}
	s.at = t.end
	s.push(t)
}

func (s *classScanner[T]) enter(b bracket) bool {
	if len(s.open) >= maxNesting {
		return false
	}
	s.open = append(s.open, b)
	return true
}

func (s *classScanner[T]) opening(c byte) bool {
	b := bracket{close: c + 2, begin: s.at} // [ ], { } in ASCII
	switch c {
	case '(':
		b.close, b.role = ')', s.parenthesisRole(&b)
	case '[':
		b.role = roleValue
	case '{':
		b.role = s.blockRole(&b)
	}
	s.push(token{kind: tokenPunct, punct: c, start: s.at, end: s.at + 1})
	s.at++
	return s.enter(b)
}

func (s *classScanner[T]) parenthesisRole(b *bracket) uint8 {
	last, before := s.last[0], s.last[1]
	if n := len(s.open); n > 0 && s.open[n-1].role == roleClass && s.namesMethod(last, before) {
		body := &s.open[n-1]
		b.class, b.name, b.key = body.class, last, body.key
		return roleParams
	}
	isHead := s.is(last, "if") || s.is(last, "for") || s.is(last, "while") || s.is(last, "with") ||
		s.is(last, "await") && s.is(before, "for")
	if isHead && before.punct != '.' {
		return roleHead
	}
	return roleOther
}

func (s *classScanner[T]) namesMethod(t, before token) bool {
	switch {
	case s.is(t, "function") && !(before.punct == ';' || before.punct == '{' || before.punct == '}'),
		s.is(before, "function"), before.punct == '*' && s.is(s.last[2], "function"):
		return false
	case t.punct == ']':
		return true
	}
	return t.kind == tokenName || t.kind == tokenOperator || t.kind == tokenValue
}

func (s *classScanner[T]) blockRole(b *bracket) uint8 {
	last := s.last[0]
	if n := len(s.heads); n > 0 && s.heads[n-1].depth == len(s.open) && !s.is(last, "extends") {
		b.class = s.heads[n-1].name
		s.heads = s.heads[:n-1]
		return roleClass
	}
	if p := &s.params; p.role == roleParams && last.punct == ')' && last.start == s.paramsAt {
		b.class, b.begin, b.name, b.key = p.class, p.begin, p.name, p.key
		return roleMethod
	}
	switch {
	case last.kind == tokenPunct && last.punct != ')' && last.punct != ';' && last.punct != '{' && last.punct != '}' &&
		!(last.punct == '>' && s.last[1].punct == '='),
		last.kind == tokenOperator && !s.is(last, "do") && !s.is(last, "else"):
		return roleValue
	}
	return roleOther
}

func (s *classScanner[T]) closing(c byte) bool {
	n := len(s.open)
	if n == 0 || s.open[n-1].close != c {
		return false
	}
	b := s.open[n-1]
	s.open = s.open[:n-1]
	s.dropHeads(len(s.open) + 1)
	t := token{kind: tokenValue, punct: c, start: s.at, end: s.at + 1}
	s.at++
	switch b.role {
	case roleTemplate:
		return s.template()
	case roleParams:
		s.params, s.paramsAt = b, t.start
	case roleHead:
		t.kind = tokenPunct
	case roleMethod:
		s.method(b)
		t.kind = tokenPunct
	case roleOther:
		if c == '}' {
			t.kind = tokenPunct
		}
	}
	if c == ']' && n > 1 && s.open[n-2].role == roleClass {
		s.open[n-2].key = [2]int{b.begin + 1, t.start}
	}
	s.push(t)
	return true
}

func (s *classScanner[T]) method(b bracket) {
	if b.class == "" || len(s.members) >= maxMembers {
		return
	}
	m := member{class: b.class, end: s.at}
	switch {
	case b.name.punct == ']':
		const symbol = "Symbol."
		if key := s.text(b.key[0], b.key[1]); len(key) > len(symbol) && key[:len(symbol)] == symbol && isWord(key[7:]) {
			m.key = "[" + key + "]"
		}
	case b.name.kind != tokenValue:
		m.name = s.text(b.name.start, b.name.end)
	}
	if m.name != "constructor" {
		s.members[b.begin] = m
	}
}

func isWord(s string) bool {
	for i := range len(s) {
		if !inName(s[i]) {
			return false
		}
	}
	return s != ""
}
