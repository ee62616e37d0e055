# PyPI: scikit-learn
exec python3 -c 'from sklearn.ensemble import RandomForestClassifier as R
from sklearn.datasets import make_classification
x, y = make_classification(5000, 30, random_state=1)
while True:
    R(40, n_jobs=2).fit(x, y).predict(x)'

# SPDX-License-Identifier: Apache-2.0
