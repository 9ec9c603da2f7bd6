"""Local differential privacy: clients perturb what they report, and a collector whom nobody trusts estimates.

>>> scheme = HadamardResponse(domain=["bus", "car", "train"], epsilon=2)
>>> reports = scheme.client().encode(["car", "bus", "car"])
>>> scheme.server().add(reports).estimate().frequencies.shape
(3,)
"""

from discreet.local._estimate import Estimate, SupportEstimate
from discreet.local._files import add_files, to_arrow
from discreet.local._reports import Reports
from discreet.local._schema import from_json, json_schema
from discreet.local._scheme import Scheme
from discreet.local._server import Server
from discreet.local._spark import add_frame
from discreet.local.frequencies._count_mean import CountMeanSketch
from discreet.local.frequencies._hadamard import HadamardResponse
from discreet.local.frequencies._hadamard_count_mean import HadamardCountMeanSketch
from discreet.local.frequencies._kary import KaryRandomizedResponse
from discreet.local.frequencies._local_hashing import LocalHashing
from discreet.local.frequencies._projective import ProjectiveGeometry
from discreet.local.frequencies._subset import SubsetSelection
from discreet.local.frequencies._unary import OptimizedUnary, SymmetricUnary
from discreet.local.frequencies._warner import Information, Survey, Warner
from discreet.local.heavy_hitters._fragment_puzzle import SequenceFragmentPuzzle
from discreet.local.heavy_hitters._prefix_extending import PrefixExtending
from discreet.local.heavy_hitters._tree_hist import TreeHist
from discreet.local.heavy_hitters._words import WordsEstimate
from discreet.local.multidimensional._key_value_estimate import KeyValueEstimate
from discreet.local.multidimensional._key_values import KeyValues
from discreet.local.multidimensional._marginal_tables import Marginal, MarginalsEstimate
from discreet.local.multidimensional._marginals import Marginals
from discreet.local.multidimensional._sampled_attributes import AttributesEstimate, SampledAttributes
from discreet.local.numbers._bounded import MeanEstimate
from discreet.local.numbers._distribution import Distribution
from discreet.local.numbers._means import Duchi, Hybrid, Piecewise
from discreet.local.numbers._square_wave import SquareWave
from discreet.local.rappor._basic import BasicRappor
from discreet.local.rappor._estimate import RapporEstimate
from discreet.local.rappor._rappor import Rappor
from discreet.local.two_servers._base import TwoServers, commitment
from discreet.local.two_servers._client import ShareClient
from discreet.local.two_servers._schemes import (
    TwoServerCount,
    TwoServerHistogram,
    TwoServerSets,
    TwoServerSum,
    TwoServerSums,
)
from discreet.local.two_servers._server import ShareServer
from discreet.local.two_servers._total import PublishedShare, Total
from discreet.local.vectors._priv_unit import PrivUnit, VectorEstimate

__all__ = [
    "AttributesEstimate",
    "BasicRappor",
    "CountMeanSketch",
    "Distribution",
    "Duchi",
    "Estimate",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "Hybrid",
    "Information",
    "KaryRandomizedResponse",
    "KeyValueEstimate",
    "KeyValues",
    "LocalHashing",
    "Marginal",
    "Marginals",
    "MarginalsEstimate",
    "MeanEstimate",
    "OptimizedUnary",
    "Piecewise",
    "PrefixExtending",
    "PrivUnit",
    "ProjectiveGeometry",
    "PublishedShare",
    "Rappor",
    "RapporEstimate",
    "Reports",
    "SampledAttributes",
    "Scheme",
    "SequenceFragmentPuzzle",
    "Server",
    "ShareClient",
    "ShareServer",
    "SquareWave",
    "SubsetSelection",
    "SupportEstimate",
    "Survey",
    "SymmetricUnary",
    "Total",
    "TreeHist",
    "TwoServerCount",
    "TwoServerHistogram",
    "TwoServerSets",
    "TwoServerSum",
    "TwoServerSums",
    "TwoServers",
    "VectorEstimate",
    "Warner",
    "WordsEstimate",
    "add_files",
    "add_frame",
    "commitment",
    "from_json",
    "json_schema",
    "to_arrow",
]
