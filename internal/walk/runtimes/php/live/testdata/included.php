<?php
return burn() + fibered($n);
