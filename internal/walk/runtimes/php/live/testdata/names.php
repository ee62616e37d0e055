<?php
// Functions and classes whose names are not ASCII, lower case only, or long: names.php SECONDS. It sleeps in the last.
namespace Größe;
function rests($s) { echo "ready\n"; \usleep((int)($s * 1e6)); }
function kürzer($s) { rests($s); }
function Länger($s) { kürzer($s); }
class Ünï {
	static function 函数($s) { Länger($s); }
	function größe($s) { self::函数($s); }
	function Ein_Name_von_mehr_als_hundertvier_Bytes_den_die_Laufzeit_ohne_Hash_laesst_weil_er_grosse_Buchstaben_hat_und_lang_ist($s) {
		$this->größe($s);
	}
}
(new Ünï)->Ein_Name_von_mehr_als_hundertvier_Bytes_den_die_Laufzeit_ohne_Hash_laesst_weil_er_grosse_Buchstaben_hat_und_lang_ist($argv[1]);
